# Runs inside the Python of a session. Frames arrive on a separate descriptor, so that standard input belongs to
# the program: a line "KIND LENGTH [[PATH] NUMBER]", then LENGTH bytes. After each frame a marker is written to standard output
# and standard error: output before it belongs to that frame.
#
# The directory of a project is on the path of a Python that runs here, and may contain a `json.py`. So only modules
# compiled into Python are imported normally. Files of the standard library are loaded from its directory alone
# (`Library`, in the text before this one), belong to this driver, and are removed from `sys.modules` before any code of
# the session runs: that code imports and changes the same modules as without us. Names are looked up in a copy of the
# builtins for the same reason.
import _ast, _frozen_importlib, _io, _signal, builtins, posix, sys
from _functools import partial

# Length limits in characters: of a value reported separately from the output, of an exception, of a name.
LONG = 10000
EXCEPTION = 4000
NAME = 1000
# The maximum line or column of a location in code.
PLACE = 2**31 - 1
# `await` outside of functions: the option of `compile`, and the flag of code that is then a coroutine.
TOP_LEVEL_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80
VALUE = "<value>"
MAGICS = 'Magics need IPython: set `python = "ipython"` under [repl] in hob.toml, then `hob stop`.'

gettrace, settrace, getprofile, setprofile = sys.gettrace, sys.settrace, sys.getprofile, sys.setprofile


class Lost(Exception):
    """A descriptor of ours was closed, or now refers to another file."""


class Kept:
    """A descriptor that the program could close, or reuse for another file."""

    def __init__(self, number):
        self.number = number
        self.file = self.identity(number)

    @staticmethod
    def identity(number):
        status = posix.fstat(number)
        return status.st_dev, status.st_ino

    def is_there(self, number):
        try:
            return self.identity(number) == self.file
        except OSError:
            return False


class Copy(Kept):
    """A copy of an output stream, so that the marker arrives even if the program changes its descriptors."""

    def __init__(self, stream):
        self.stream = stream
        Kept.__init__(self, self.copied())

    def copied(self):
        number = posix.dup(self.stream)
        posix.set_inheritable(number, False)
        return number

    def write(self, data):
        rest = memoryview(data)
        while rest:
            if not self.is_there(self.number):
                if not self.is_there(self.stream):
                    raise Lost
                self.number = self.copied()
            rest = rest[posix.write(self.number, rest) :]


def drawn(step, driver, after):
    try:
        return step()
    except:
        for driver.tracer, driver.profiler, _, _ in after:
            raise


# Python's own imports are then the same as those of the session's code.
drawn = type(drawn)(drawn.__code__, {"__builtins__": builtins})


class Driver:
    def __init__(self, nonce, frames, library, pictures, ipython):
        self.nonce = nonce
        self.frames = frames
        self.code = Kept(frames.fileno())
        self.number = 0
        self.running = False
        self.pid = posix.getpid()
        self.out = Copy(1)
        self.err = Copy(2)
        self.library = library
        self.sources = Sources(self)
        self.pictures = Pictures(pictures)
        self.traceback, self.lines, tools = library.take("traceback", "linecache", "itertools")
        self.each = tools.starmap
        self.tracer = self.profiler = None
        self.asks_quietly = False
        self.tasks = EventLoop(self)
        # True if frames of the event loop or of IPython come before those of the code.
        self.awaits = False
        self.hook, self.display = sys.excepthook, sys.displayhook
        library.lend("linecache")
        self.main = sys.modules["__main__"]
        posix.set_inheritable(frames.fileno(), False)
        _signal.signal(_signal.SIGINT, self.interrupt)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.reconfigure(line_buffering=True, errors="backslashreplace")
            except Exception:
                pass
        print("Python " + sys.version.replace("\n", " "))
        # A note for the first answer.
        self.note = None
        self.wants_ipython = ipython
        self.ipython = start_ipython(self) if ipython else None

    def interrupt(self, number, frame):
        # A signal while nothing is running is late, and must not hit the next evaluation.
        if self.running:
            raise KeyboardInterrupt

    def loop(self):
        # Kept outside the step, so that an interrupt anywhere in it cannot lose the marker.
        self.report = {}
        self.pending = True
        self.given = self.former = None
        while True:
            try:
                if self.pending:
                    self.running = False
                    self.mark(self.report)
                    self.pending = False
                frame = self.read()
                if frame is None:
                    return
                kind, code, number, path = frame
                self.report = {}
                self.pending = True
                if path:
                    self.read_from(path)
                if kind in "EI":
                    self.evaluate(code, number)
            except KeyboardInterrupt:
                pass

    def read(self):
        if not self.code.is_there(self.code.number):
            raise Lost
        self.tasks.run_in_background()
        kind, _, head = self.frames.readline().rstrip(b"\n").partition(b" ")
        if not head or kind == b"Q":
            return None
        length, _, rest = head.partition(b" ")
        # The path of a file may have blanks.
        path, _, number = rest.rpartition(b" ")
        code = self.frames.read(int(length)).decode("utf-8", "surrogateescape")
        return kind.decode(), code, number.decode(), path

    def evaluate(self, code, number):
        name = "<eval %s>" % number
        self.remember(name, code)
        failed = False
        try:
            try:
                self.running = True
                self.pictures.prepare(code, self.hand)
                self.ask_quietly(code)
                run = self.sources.reload if code.split()[:1] == [":reload"] else self.ipython or self.run
                value = run(code, name)
                if posix.getpid() == self.pid:
                    self.pictures.add_to(self.report, value, number, self.hand)
            finally:
                self.running = False
                self.put_aside()
        except SystemExit:
            raise
        except BaseException as error:
            self.running = False
            failed = True
            if posix.getpid() == self.pid:
                self.report = self.failure(error, name)
                is_magic = code.lstrip()[:1] in ("%", "!") or code.rstrip().endswith("?")
                if is_magic and "syntax" in self.report and not self.wants_ipython:
                    self.note = MAGICS
            else:
                self.traceback.print_exc()
        if posix.getpid() != self.pid:
            # A forked child of the code must not answer instead of its parent.
            self.flush()
            posix._exit(int(failed))
        self.sources.add_to(self.report)
        if self.note:
            self.report["note"] = self.note
            self.note = None

    def hand(self, function, *arguments):
        """Calls what is the session's own, traced and profiled as it asked for, which nothing of ours is: one step of an
        iterator sets that, calls, and takes it away again, without a call, line or return of its own. The step is taken by
        `next`, which lets `StopIteration` through as well, behind what no profile counts as a call."""
        each = self.each
        off = [each(gettrace, [()]), each(getprofile, [()]), each(settrace, [(None,)]), each(setprofile, [(None,)])]
        on = [each(settrace, [(self.tracer,)]), each(setprofile, [(self.profiler,)]), each(function, [arguments])]
        _, _, value, self.tracer, self.profiler, _, _ = drawn(partial(next, zip(*(on + off))), self, zip(*off))
        return value

    def ask_quietly(self, code):
        """Keeps `getpass` from warning that it has no terminal: who types decides what is shown."""
        if "getpass" not in code or self.asks_quietly:
            return
        self.asks_quietly = True
        try:
            module = self.hand(builtins.__import__, "getpass")
            ask = module._raw_input
            module.fallback_getpass = lambda prompt="Password: ", stream=None, **_: ask(prompt, stream or sys.stderr)
        except Exception:
            # Another module of that name.
            pass

    def put_aside(self):
        # An interrupt may have come before that was done.
        if gettrace() is not None:
            self.tracer = gettrace()
            settrace(None)
        if getprofile() is not None:
            self.profiler = getprofile()
            setprofile(None)

    def remember(self, name, code):
        # As Python reads a file: other characters end no line, and the last line is complete.
        entry = (len(code), None, _io.StringIO(code + "\n", None).readlines(), name)
        self.lines.cache[name] = entry
        try:
            sys.modules["linecache"].cache[name] = entry
        except Exception:
            # The session has no display hook, or an invalid one.
            pass

    def run(self, code, name):
        """Runs code, reports its value, and returns that."""
        if "\\N{" in code:
            self.library.name_characters()
        self.awaits = False
        tree = self.hand(compile, code, name, "exec", _ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT)
        last = None
        if tree.body and isinstance(tree.body[-1], _ast.Expr):
            last = _ast.Expression(tree.body.pop().value)
        codes = [self.hand(compile, tree, name, "exec", TOP_LEVEL_AWAIT)] if tree.body else []
        if last is not None:
            codes.append(self.hand(compile, last, name, "eval", TOP_LEVEL_AWAIT))
        if any(code.co_flags & COROUTINE for code in codes):
            value = self.run_in_loop(tree, last, name)
        else:
            for code in codes:
                value = self.hand(eval, code, self.main.__dict__)
        if last is None:
            return None
        display = getattr(sys, "displayhook", self.display)
        if display is not self.display and display is not getattr(sys, "__displayhook__", None):
            self.hand(display, value)
            return None
        if value is None:
            return None
        builtins._ = value
        self.show(value, compact(value, partial(self.hand, repr, value)))
        return value

    def show(self, value, text):
        """Reports a value."""
        # Excludes subclasses, whose methods a program may have defined.
        text = str.__add__("", text)
        kind = self.name(type(value))
        self.report = {"type": kind}
        if len(text) <= LONG:
            self.report["value"] = text
        else:
            # Printed, like at Python's own prompt: output is kept whole, and can be read in parts.
            self.flush()
            self.out.write(encoded(text + "\n"))

    def run_in_loop(self, tree, last, name):
        """Runs all of the code in the event loop of the session, which also runs the tasks of earlier evaluations."""
        space = self.main.__dict__
        if last is not None:
            # One coroutine for all of the code, so that it can start tasks: it leaves the value of its end in a variable.
            end = _ast.Assign([_ast.Name(VALUE, _ast.Store())], last.body)
            for node in (end, end.targets[0]):
                for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                    setattr(node, place, getattr(last.body, place))
            tree.body.append(end)
        code = self.hand(compile, tree, name, "exec", TOP_LEVEL_AWAIT)
        self.awaits = True
        self.tasks.complete(self.hand(eval, code, space))
        return space.pop(VALUE, None)

    def name(self, kind):
        try:
            module, name = kind.__module__, kind.__qualname__
            return name if module == "builtins" else "%s.%s" % (module, name)
        except BaseException:
            # A metaclass may return anything as the name of a class.
            return type.__dict__["__name__"].__get__(kind)

    def failure(self, error, name):
        """The report on an exception. It never fails, even if the exception's own methods do."""
        kind = self.name(type(error))
        report = {"exception": kind, "interrupted": isinstance(error, KeyboardInterrupt)}
        try:
            self.explain(error, name, report)
        except BaseException:
            self.flush()
            self.err.write(encoded("%s (its text cannot be shown)\n" % kind))
        return report

    def explain(self, error, name, report):
        trace = error.__traceback__
        hides = (lambda file: file != name) if self.awaits else (lambda file: file == __file__)
        while trace is not None and hides(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        syntax = isinstance(error, SyntaxError) and error.filename in ((name, None) if trace is None else (name,))
        if syntax:
            trace = None
        self.remember_error(error, trace)
        self.flush()
        lines = self.traceback.format_exception(type(error), error, trace)
        # Our own frames are not part of the program.
        text = "".join(line for line in lines if not line.startswith('  File "%s"' % __file__))
        if not self.hooked(error, trace):
            try:
                sys.stderr.write(text)
            except Exception:
                self.err.write(encoded(text))
        # After the location of a syntax error, before notes.
        only = self.traceback.format_exception_only(type(error), error)
        report["exception"] = next((line for line in only if not line.startswith(" ")), only[-1]).strip()
        if syntax:
            report["syntax"] = {"message": "%s" % (error.msg,)}
            for key, attribute in PLACES:
                place = getattr(error, attribute, None)
                # Without a location Python gives None, 0 or -1.
                if type(place) is int and 0 < place <= PLACE:
                    report["syntax"][key] = place

    def remember_error(self, error, trace):
        """As Python's own prompt does it, for `pdb.pm()`."""
        BaseException.with_traceback(error, trace)
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        if sys.version_info >= (3, 12):
            sys.last_exc = error

    def hooked(self, error, trace):
        """True if the session's own hook has shown the exception. The report does not depend on it."""
        hook = getattr(sys, "excepthook", self.hook)
        if hook is self.hook or hook is getattr(sys, "__excepthook__", None):
            return False
        try:
            self.running = True
            try:
                self.hand(hook, type(error), error, trace)
            finally:
                self.running = False
                self.put_aside()
            return True
        except BaseException as second:
            kind = self.name(type(second))
            self.err.write(encoded("sys.excepthook failed (%s), with this exception:\n" % kind))
            return False

    def flush(self):
        for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
            try:
                getattr(sys, name).flush()
            except BaseException:
                # A stream of the program's own making, or none.
                pass

    def mark(self, report):
        self.flush()
        self.number += 1
        for copy, payload in ((self.out, as_json(report)), (self.err, self.take_back())):
            copy.write(encoded("%s %d %s\n" % (self.nonce, self.number, payload)))

    def read_from(self, path):
        """Replaces standard input by a file, for one evaluation."""
        try:
            number = posix.open(path, posix.O_RDONLY)
        except OSError:
            # An interrupt that came first had it removed.
            number = posix.open("/dev/null", posix.O_RDONLY)
        try:
            self.former = posix.dup(0)
            posix.set_inheritable(self.former, False)
        except OSError:
            # The session has closed it.
            self.former = None
        self.given = Kept.identity(number)
        if number:
            posix.dup2(number, 0)
            posix.close(number)
        else:
            posix.set_inheritable(0, True)

    def take_back(self):
        """Restores standard input, and counts the unread bytes in the file and in Python's own buffers."""
        if self.given is None:
            return ""
        count = 0
        try:
            if Kept.identity(0) == self.given:
                count = max(0, posix.fstat(0).st_size - posix.lseek(0, 0, 1))
            null = posix.open("/dev/null", posix.O_RDONLY)
            if null:
                posix.dup2(null, 0)
                posix.close(null)
            count += len(sys.__stdin__.read().encode(sys.__stdin__.encoding, sys.__stdin__.errors))
        except Exception:
            # A stream of the program's own making, or none.
            pass
        finally:
            if self.former is None:
                posix.close(0)
            else:
                posix.dup2(self.former, 0)
                posix.close(self.former)
            self.given = self.former = None
        return "+%d" % count


PLACES = (("line", "lineno"), ("column", "offset"), ("end_line", "end_lineno"), ("end_column", "end_offset"))
# The length limit of each kind of text: a marker that is too long is not recognised.
LENGTHS = {"value": LONG, "exception": EXCEPTION, "message": EXCEPTION, "type": NAME, "changed": NAME, "pictures": EXCEPTION, "note": NAME}
ESCAPES = dict((number, "\\u%04x" % number) for number in list(range(0x20)) + [0x7F, 0x22, 0x5C])


def as_json(value, key=None):
    if isinstance(value, dict):
        return "{%s}" % ", ".join('"%s": %s' % (key, as_json(value[key], key)) for key in value)
    if isinstance(value, str):
        # Invalid Unicode is shown like Python shows it on standard error.
        text = str.__add__("", value)[: LENGTHS[key]].encode("utf-8", "backslashreplace").decode()
        return '"%s"' % text.translate(ESCAPES)
    return "true" if value is True else "false" if value is False else "%d" % value


def encoded(text):
    return text.encode("utf-8", "backslashreplace")


def bare():
    """Makes everything look as in a Python that was started without a script."""
    main = sys.modules["__main__"].__dict__
    script = main["__file__"]
    kept = {"__annotations__", "__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__"}
    for name in set(main) - kept:
        del main[name]
    main["__loader__"] = _frozen_importlib.BuiltinImporter
    if sys.path and sys.path[0] == script.rpartition("/")[0]:
        sys.path[0] = ""
    sys.argv = [""]
    if getattr(sys, "orig_argv", [])[-1:] == [script]:
        sys.orig_argv.pop()
    sys.path_importer_cache.pop(script, None)
    sources = posix.environ.get(b"HOB_SOURCES", b"").decode(sys.getfilesystemencoding(), "surrogateescape")
    if sources and sources not in sys.path:
        # Last, like in a development installation, so that it shadows nothing.
        sys.path.append(sources)
    for name in ("HOB_CODE_FD", "HOB_SOURCES", "HOB_PICTURES", "HOB_IPYTHON"):
        if "os" in sys.modules:
            sys.modules["os"].environ.pop(name, None)
        posix.environ.pop(name.encode(), None)
        if hasattr(posix, "unsetenv"):
            posix.unsetenv(name.encode())


def start(nonce, frames, names):
    pictures = posix.environ.get(b"HOB_PICTURES", b"").decode(sys.getfilesystemencoding(), "surrogateescape")
    ipython = b"HOB_IPYTHON" in posix.environ
    bare()
    driver = Driver(nonce, frames, Library(names), pictures, ipython)
    try:
        driver.loop()
    except SystemExit:
        driver.flush()
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        raise
    except Lost:
        driver.flush()
        for number in (driver.err.number, 2):
            if driver.err.is_there(number):
                posix.write(number, b"The program closed the descriptors by which this session hears and answers.\n")
                break
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        raise SystemExit(1)
