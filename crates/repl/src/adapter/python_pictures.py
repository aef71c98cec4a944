

class Pictures:
    """Pictures of evaluations, as PNG files in the directory of the session's output. Pyplot's figures are closed after they
    are written, as in a notebook."""

    # The number of files, of which the oldest are removed, and the maximum of one evaluation.
    KEPT = 20
    EACH = 4

    def __init__(self, directory):
        self.directory = directory
        self.files = []
        # Pictures of the evaluation that IPython has drawn.
        self.given = []
        self.is_quiet = False

    def prepare(self, code, hand):
        """Keeps `show` from warning that it opens no window."""
        self.given = []
        if "pyplot" in code and not self.is_quiet:
            self.is_quiet = True
            warnings = hand(builtins.__import__, "warnings")
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")

    def add_to(self, report, value, name, hand):
        """Writes the figures that are open, and the value if it is a picture."""
        if not self.directory:
            return
        figures = self.open_figures()
        # Looked up without any code of the value or of its class.
        kinds = type.__dict__["__mro__"].__get__(type(value))
        methods = [kind.__dict__["_repr_png_"] for kind in kinds if "_repr_png_" in kind.__dict__]
        is_figure = any((kind.__module__, kind.__name__) == ("matplotlib.figure", "Figure") for kind in kinds)
        if is_figure and not any(one is value for one in figures):
            figures.append(value)
        pictures = self.given + [hand(self.drawn, one) for one in figures[: self.EACH]]
        for one in figures:
            if "matplotlib.pyplot" in sys.modules:
                hand(sys.modules["matplotlib.pyplot"].close, one)
        if methods and not is_figure:
            pictures.append(hand(self.rendered, methods[0], value))
        paths = [self.write(picture, name, number + 1) for number, picture in enumerate(pictures[: self.EACH]) if picture]
        if paths:
            report["pictures"] = "\n".join(paths)

    @staticmethod
    def open_figures():
        try:
            managers = sys.modules["matplotlib._pylab_helpers"].Gcf.get_all_fig_managers()
            return [manager.canvas.figure for manager in managers]
        except Exception:
            # Pyplot is not imported, or the program has put something else in its place.
            return []

    @staticmethod
    def rendered(method, value):
        try:
            picture = method(value)
        except Exception:
            # The text of the value is shown all the same.
            return None
        # With metadata in a tuple.
        picture = picture[0] if type(picture) is tuple and picture else picture
        return picture if type(picture) is bytes and picture.startswith(b"\x89PNG\r\n\x1a\n") else None

    @staticmethod
    def drawn(figure):
        file = _io.BytesIO()
        figure.savefig(file, format="png")
        return file.getvalue()

    def write(self, picture, name, number):
        path = "%s/picture-%s-%d.png" % (self.directory, name, number)
        file = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_CLOEXEC, 0o600)
        try:
            rest = memoryview(picture)
            while rest:
                rest = rest[posix.write(file, rest) :]
        finally:
            posix.close(file)
        self.files.append(path)
        while len(self.files) > self.KEPT:
            try:
                posix.unlink(self.files.pop(0))
            except OSError:
                # Somebody else removed it.
                pass
        return path
