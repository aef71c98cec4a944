

class Sources:
    """The project's modules whose files changed after they were imported."""

    def __init__(self):
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
                self.remember(name, module)
                continue
            now = self.time(file)
            if now is not None and now != before:
                self.imported[name] = (spec, file, now)
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
