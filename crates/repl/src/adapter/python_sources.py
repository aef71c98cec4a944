

class Sources:
    """The project's modules whose files changed after they were imported."""

    def __init__(self, driver):
        self.driver = driver
        # The names of the changed modules that were not reloaded yet.
        self.stale = set()
        try:
            self.root = posix.getcwd().rstrip("/") + "/"
        except OSError:
            self.root = None
        # The number of modules at the last search for new ones.
        self.count = 0
        # By name: the module's specification, which a reload replaces, its file, and the time of the file at the import.
        self.imported = {}

    def add_to(self, report):
        """Adds the names of the modules that changed since the last call."""
        try:
            changed = self.changed() if self.root else []
            if changed:
                report["changed"] = ", ".join(changed)
        except Exception:
            # The program has put something else in the place of `sys.modules`.
            pass

    def changed(self):
        if len(sys.modules) != self.count:
            self.count = len(sys.modules)
            for name, module in list(sys.modules.items()):
                if name not in self.imported:
                    self.remember(name, module)
        found = []
        for name, (spec, file, before) in list(self.imported.items()):
            module = sys.modules.get(name)
            if type(module) is not ModuleType or module.__dict__.get("__spec__") is not spec:
                del self.imported[name]
                self.stale.discard(name)
                self.remember(name, module)
                continue
            now = self.time(file)
            if now is not None and now != before:
                self.imported[name] = (spec, file, now)
                self.stale.add(name)
                found.append(name)
        return sorted(found)

    def remember(self, name, module):
        values = module.__dict__ if type(module) is ModuleType else {}
        file = values.get("__file__")
        if type(file) is str and name != "__main__" and self.is_own(file):
            self.imported[name] = (values.get("__spec__"), file, self.time(file))

    def is_own(self, file):
        installed = (sys.prefix + "/", sys.base_prefix + "/")
        return file.startswith(self.root) and not file.startswith(installed) and "/site-packages/" not in file

    @staticmethod
    def time(file):
        try:
            return posix.stat(file).st_mtime_ns
        except (OSError, ValueError):
            return None

    def reload(self, code, name):
        """Reloads the changed modules, or those that follow `:reload` in the code, and all that import them, in the order of imports."""
        self.driver.awaits = False
        self.changed()
        imports = dict((one, self.imports_of(one)) for one in self.imported)
        self.stale.update(self.find(target) for target in code.split()[1:])
        count = 0
        while count != len(self.stale):
            count = len(self.stale)
            self.stale.update(one for one in imports if imports[one] & self.stale)
        order = []

        def add(one):
            if one in self.stale and one not in order and one not in begun:
                begun.add(one)
                for other in sorted(imports[one]):
                    add(other)
                order.append(one)

        begun = set()
        for one in self.imported:
            add(one)
        for one in order:
            self.reload_one(one)
        text = "Reloaded %s." % ", ".join(order) if order else "No imported module of the project has changed."
        self.driver.out.write(encoded(text + "\n"))

    def find(self, target):
        """Returns the name of the module that a person calls by its name or its file."""
        for one, (_, file, _) in self.imported.items():
            if target == one or file in (target, "%s%s" % (self.root, target)):
                return one
        known = ", ".join(sorted(self.imported)[:20])
        others = ", or name one of: %s" % known if known else ""
        raise ImportError("no imported module of the project is called %r; import it first%s" % (target, others))

    def imports_of(self, name):
        """Returns the names that may be modules in the import statements of a module."""
        spec, file, _ = self.imported[name]
        try:
            with _io.open_code(file) as source:
                rest = [compile(source.read(), file, "exec", _ast.PyCF_ONLY_AST)]
        except (OSError, SyntaxError, ValueError):
            return set()
        names = set()
        while rest:
            node = rest.pop()
            if isinstance(node, list):
                rest += node
            elif isinstance(node, _ast.AST):
                rest += [getattr(node, field, None) for field in node._fields]
            if isinstance(node, _ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, _ast.ImportFrom):
                package = (spec.parent or "").split(".") if node.level else []
                base = ".".join(package[: len(package) + 1 - node.level] + ([node.module] if node.module else []))
                inner = ["%s.%s" % (base, alias.name) for alias in node.names]
                names.update(one if one in self.imported else base for one in inner)
        return names & set(self.imported) - {name}

    def reload_one(self, name):
        module, hand = sys.modules[name], self.driver.hand
        before = dict(module.__dict__)
        try:
            hand(hand(builtins.__import__, "importlib").reload, module)
        except Exception as error:
            # The frames of importlib say nothing.
            trace = error.__traceback__
            while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(self.root):
                trace = trace.tb_next
            raise BaseException.with_traceback(error, trace)
        # Names that the session has imported from it.
        main, after = self.driver.main.__dict__, module.__dict__
        for key in before:
            if key in main and key in after and main[key] is before[key] and not key.startswith("__"):
                main[key] = after[key]
        self.stale.discard(name)
        del self.imported[name]
        self.remember(name, module)
