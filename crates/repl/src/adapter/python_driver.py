# Runs inside the Python of a session. Frames come in on a descriptor of their own, so that standard input belongs to
# the program: a line "KIND LENGTH", then that many bytes. After each frame a marker goes to standard output and
# standard error: what stands before it belongs to that frame.
import ast, builtins, io, json, linecache, os, signal, sys, traceback, types

# The longest value that is reported apart from the output, in characters.
LONG = 10000


class Driver:
    def __init__(self, nonce, frames):
        self.nonce = nonce
        self.frames = frames
        self.number = 0
        self.running = False
        self.pid = os.getpid()
        # Copies, so that the end is seen whatever the program does to its own descriptors.
        self.out = os.dup(1)
        self.err = os.dup(2)
        self.main = types.ModuleType("__main__")
        self.main.__builtins__ = builtins
        sys.modules["__main__"] = self.main
        sys.argv = [""]
        os.set_inheritable(frames.fileno(), False)
        signal.signal(signal.SIGINT, self.interrupt)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.reconfigure(line_buffering=True, errors="backslashreplace")
            except Exception:
                pass
        print("Python " + sys.version.replace("\n", " "))

    def interrupt(self, number, frame):
        # A signal that finds nothing running has come too late, and must not hit what comes next.
        if self.running:
            raise KeyboardInterrupt

    def loop(self):
        # Kept outside the step, so that an interrupt anywhere in it cannot lose the marker.
        self.report = {}
        self.pending = True
        while True:
            try:
                if self.pending:
                    self.running = False
                    self.mark(self.report)
                    self.pending = False
                frame = self.read()
                if frame is None:
                    return
                kind, code = frame
                self.report = {}
                self.pending = True
                if kind == "E":
                    self.evaluate(code)
            except KeyboardInterrupt:
                pass

    def read(self):
        head = self.frames.readline().split()
        if len(head) != 2 or head[0] == b"Q":
            return None
        return head[0].decode(), self.frames.read(int(head[1])).decode("utf-8", "surrogateescape")

    def evaluate(self, code):
        name = "<input %d>" % (self.number + 1)
        # As Python reads a file: other characters end no line, and the last line is complete.
        linecache.cache[name] = (len(code), None, io.StringIO(code + "\n", None).readlines(), name)
        try:
            try:
                self.running = True
                self.report = self.run(code, name)
            finally:
                self.running = False
        except SystemExit:
            raise
        except BaseException as error:
            self.running = False
            if os.getpid() == self.pid:
                self.report = self.failure(error, name)
            else:
                traceback.print_exc()
        if os.getpid() != self.pid:
            # A child that the code forked must not answer in its parent's place.
            self.flush()
            os._exit(0)

    def run(self, code, name):
        tree = ast.parse(code, name, "exec")
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        space = self.main.__dict__
        exec(compile(tree, name, "exec"), space)
        if last is None:
            return {}
        value = eval(compile(last, name, "eval"), space)
        if value is None:
            return {}
        builtins._ = value
        text = repr(value)
        kind = type(value)
        kind = kind.__name__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
        if len(text) <= LONG:
            return {"type": kind, "value": text}
        # Printed, as Python's own prompt does it: output is kept whole, and can be read in parts.
        self.flush()
        self.write(self.out, text + "\n")
        return {"type": kind}

    def failure(self, error, name):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        syntax = isinstance(error, SyntaxError) and trace is None or isinstance(error, SyntaxError) and error.filename == name
        if syntax:
            trace = None
        self.flush()
        try:
            lines = traceback.format_exception(type(error), error, trace)
        except BaseException:
            lines = [type(error).__name__ + "\n"]
        # Our own frames are no part of what the program did.
        text = "".join(line for line in lines if not line.startswith('  File "%s"' % __file__))
        try:
            sys.stderr.write(text)
        except Exception:
            os.write(self.err, text.encode("utf-8", "backslashreplace"))
        last = lines[-1].strip()
        report = {"exception": last[:4000], "interrupted": type(error) is KeyboardInterrupt}
        if syntax:
            report["syntax"] = {"line": error.lineno, "column": error.offset, "message": str(error.msg)}
            for key, attribute in (("end_line", "end_lineno"), ("end_column", "end_offset")):
                end = getattr(error, attribute, None)
                if end:
                    report["syntax"][key] = end
        return report

    def flush(self):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass

    def mark(self, report):
        self.flush()
        self.number += 1
        payload = json.dumps(report)
        for descriptor, payload in ((self.out, payload), (self.err, "")):
            self.write(descriptor, "%s %d %s\n" % (self.nonce, self.number, payload))

    def write(self, descriptor, text):
        rest = memoryview(text.encode("utf-8", "backslashreplace"))
        while rest:
            rest = rest[os.write(descriptor, rest):]


def start(nonce, frames):
    driver = Driver(nonce, frames)
    try:
        driver.loop()
    except SystemExit as exit:
        driver.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise
