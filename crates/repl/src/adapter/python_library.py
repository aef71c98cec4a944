# The first part of the code inside the Python of a session: the import source of the second part, the driver.
import _frozen_importlib, _frozen_importlib_external, sys

ModuleType = type(sys)


class Library:
    """The standard library for the driver alone."""

    # Modules that exist once per process, and existed before us.
    SHARED = {"abc", "builtins", "codecs", "encodings", "io", "os", "os.path", "posixpath", "stat", "sys"}

    def __init__(self, names):
        self.path = self.directories()
        self.modules = {}
        self.names = names
        names["__import__"] = self.bring

    def directories(self):
        version = sys.version_info[:2]
        found = []
        for prefix in (sys.base_prefix, sys.base_exec_prefix):
            for lib in (getattr(sys, "platlibdir", "lib"), "lib"):
                directory = "%s/%s/python%d.%d" % ((prefix, lib) + version)
                found += ["%s/%s/python%d%d.zip" % ((prefix, lib) + version), directory, directory + "/lib-dynload"]
        path = [entry for entry in sys.path if entry in found]
        if not any(entry in path for entry in found if not entry.endswith(".zip")):
            # Another Python keeps it elsewhere: next to the module that every Python loads first.
            directory = sys.modules["os"].__file__.rpartition("/")[0]
            path += [directory, directory + "/lib-dynload"]
        return path

    def bring(self, name, globals=None, locals=None, fromlist=(), level=0):
        """Implements the `import` statement in these modules."""
        if level:
            package = globals["__package__"].split(".")
            name = ".".join(package[: len(package) - level + 1] + ([name] if name else []))
        module = self.module(name)
        if not fromlist:
            return module if level else self.module(name.partition(".")[0])
        if hasattr(module, "__path__"):
            for item in fromlist:
                if item != "*" and not hasattr(module, item):
                    try:
                        self.module(name + "." + item)
                    except ImportError:
                        # Then it is not a module, and the importer gets the error.
                        pass
        return module

    def module(self, name):
        if name in self.modules:
            return self.modules[name]
        if name in self.SHARED or name.startswith("encodings."):
            shared = sys.modules.get(name)
            if shared is not None:
                return shared
        for importer in (_frozen_importlib.BuiltinImporter, _frozen_importlib.FrozenImporter):
            spec = importer.find_spec(name)
            if spec is not None:
                module = sys.modules.get(name)
                return _frozen_importlib._load(spec) if module is None else module
        package, _, last = name.rpartition(".")
        path = self.path
        if package:
            parent = self.module(package)
            # A package may have replaced one of its files by another module.
            module = getattr(parent, last, None)
            if isinstance(module, ModuleType):
                return module
            path = parent.__path__
        spec = _frozen_importlib_external.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError("no module %r in the standard library" % name, name=name)
        module = self.modules[name] = self.load(spec)
        if package:
            setattr(parent, last, module)
        return module

    def load(self, spec):
        """A separate module. While it runs it is in `sys.modules`, where modules look themselves up."""
        name = spec.name
        if not hasattr(spec.loader, "get_code") or isinstance(
            spec.loader, _frozen_importlib_external.ExtensionFileLoader
        ):
            before = sys.modules.pop(name, None)
            try:
                return _frozen_importlib._load(spec)
            finally:
                self.put(name, before)
        module = _frozen_importlib.module_from_spec(spec)
        module.__builtins__ = self.names
        before = sys.modules.get(name)
        sys.modules[name] = self.modules[name] = module
        try:
            exec(spec.loader.get_code(name), module.__dict__)
            # Some modules replace themselves by another.
            module = sys.modules.get(name, module)
        except BaseException:
            del self.modules[name]
            raise
        finally:
            self.put(name, before)
        return module

    def put(self, name, module):
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module

    def take(self, *names):
        """Loads modules and restores `sys.modules`, except for modules that no file can shadow."""
        before = dict(sys.modules)
        taken = [self.module(name) for name in names]
        compiled = (_frozen_importlib.BuiltinImporter, _frozen_importlib.FrozenImporter)
        for name, module in list(sys.modules.items()):
            if name not in before and getattr(module, "__loader__", None) not in compiled:
                del sys.modules[name]
        return taken

    def name_characters(self):
        """Python imports the module at the first `\\N{…}`, and caches it: this makes it find the real one."""
        if "unicodedata" in self.modules:
            return
        before = sys.modules.get("unicodedata")
        try:
            sys.modules["unicodedata"] = self.module("unicodedata")
            compile("'\\N{SPACE}'", "<hob>", "eval")
        except Exception:
            # Python itself reports a missing module.
            pass
        finally:
            self.put("unicodedata", before)

    def lend(self, name):
        """A copy of our module for the session's code, unless the session's path has another of that name."""
        try:
            mine = self.modules[name].__spec__
            found = _frozen_importlib_external.PathFinder.find_spec(name)
            if name not in sys.modules and found is not None and found.origin == mine.origin:
                module = _frozen_importlib.module_from_spec(mine)
                module.__builtins__ = self.names
                exec(mine.loader.get_code(name), module.__dict__)
                sys.modules[name] = module
        except Exception:
            # It only affects code lines in traces that a program prints itself.
            pass
