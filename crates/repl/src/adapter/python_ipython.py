

def start_ipython(driver):
    """Returns the function that runs code in IPython's own shell, or None. Then the driver's note says why, and Python runs the code."""
    path = sys.path[:]
    try:
        # The project may contain an `IPython.py` or a `json.py`.
        sys.path[:] = [entry for entry in path if entry and not driver.sources.is_own(entry + "/")]
        run = make_shell(driver)
        print("IPython " + sys.modules["IPython"].__version__)
        return run
    except ImportError:
        driver.note = "IPython is not installed in this environment, so Python runs without it. `%s -m pip install ipython` installs it; then use repl_restart." % (
            sys.executable or "python3"
        )
    except Exception as error:
        driver.note = "IPython did not start (%s), so Python runs without it." % driver.name(type(error))
        driver.traceback.print_exc()
    finally:
        sys.path[:] = path
    print(driver.note)
    return None


def make_shell(driver):
    """Creates the shell. IPython transforms and runs the code; ends, interrupts, the event loop, errors and pictures are the driver's."""
    bring = builtins.__import__
    core = bring("IPython.core.interactiveshell", fromlist=("*",))
    hooks = bring("IPython.core.displayhook", fromlist=("*",))
    publishers = bring("IPython.core.displaypub", fromlist=("*",))
    compilers = bring("IPython.core.compilerop", fromlist=("*",))
    calls = bring("IPython.core.autocall", fromlist=("*",))

    class Compiler(compilers.CachingCompiler):
        def get_code_name(self, raw_code, transformed_code, number):
            # A cell inside of a cell (`%%capture`) has the same name, and its own lines.
            driver.remember(shell.label, raw_code)
            return shell.label

    class Hook(hooks.DisplayHook):
        def write_output_prompt(self):
            pass

        finish_displayhook = write_output_prompt

        def write_format_data(self, data, metadata=None):
            if shell.last is not None:
                print(shell.last)
            shell.last = shell.take(data)

    class Publisher(publishers.DisplayPublisher):
        def publish(self, data, *arguments, **options):
            has_picture = "image/png" in data
            text = shell.take(data)
            if not has_picture and text is not None:
                print(text)

        def clear_output(self, wait=False):
            pass

    class Exit(calls.ExitAutocall):
        def __call__(self, status=None):
            raise SystemExit(status)

    class Shell(core.InteractiveShell):
        compiler_class, displayhook_class, display_pub_class = Compiler, Hook, Publisher
        label, last, error = "<hob>", None, None

        def init_virtualenv(self):
            """hob has activated the environment."""

        def enable_gui(self, gui=None):
            """No window opens."""

        def _exiter_default(self):
            return Exit(self)

        def system(self, command):
            # The shell's output goes where that of the session goes, and an interrupt ends both.
            driver.flush()
            command = self.var_expand(command, depth=1)
            shell_path = sys.modules["os"].environ.get("SHELL")
            self.user_ns["_exit_code"] = bring("subprocess").call(command, shell=True, executable=shell_path)

        def take(self, data):
            """Keeps a picture for the answer. Returns the text."""
            picture = data.get("image/png")
            if picture is not None:
                decode = bring("binascii").a2b_base64
                driver.pictures.given.append(decode(picture) if type(picture) is str else picture)
            return data.get("text/plain")

        def showtraceback(self, exc_tuple=None, *arguments, **options):
            """Leaves the report to the driver, which shows the last error of an evaluation as its own."""
            error = (exc_tuple or sys.exc_info())[1] or getattr(sys, "last_value", None)
            if isinstance(error, SystemExit):
                # Instead of advice on how to exit.
                raise error
            if self.error not in (None, error) and not isinstance(error, KeyboardInterrupt):
                driver.traceback.print_exception(type(self.error), self.error, self.error.__traceback__)
            self.error = error

        def showsyntaxerror(self, *arguments, **options):
            self.showtraceback()

        def showindentationerror(self):
            self.showtraceback()

        def show_usage_error(self, error):
            self.showtraceback((type(error), error, None))

    def create(**options):
        settings = {"HistoryManager": {"enabled": False}}
        config = bring("traitlets.config", fromlist=("*",)).Config(settings)
        return Shell.instance(config=config, user_module=driver.main, user_ns=driver.main.__dict__, colors="nocolor", **options)

    try:
        shell = create()
    except OSError:
        # The home cannot be written, as in a sandbox.
        shell = create(ipython_dir=driver.pictures.directory + "/ipython")
    formatter = shell.display_formatter
    formatter.active_types = ["text/plain", "image/png"]
    format_any = formatter.format
    formatter.format = lambda value, *arguments, **options: compact(value, partial(format_any, value, *arguments, **options))
    shell.loop_runner = driver.tasks.complete
    run_cell = partial(shell.run_cell, store_history=True)

    def run(code, name):
        shell.label, shell.last, shell.error = name, None, None
        # Frames of IPython come before those of the code.
        driver.awaits = True
        result = driver.hand(run_cell, code)
        errors = [error for error in (result.error_before_exec, result.error_in_exec, shell.error) if error is not None]
        if errors:
            if driver.name(type(errors[0])) == "IPython.core.error.UsageError":
                # Its text says all.
                BaseException.with_traceback(errors[0], None)
            raise errors[0]
        if shell.last is None:
            return None
        driver.show(result.result, shell.last)
        return None if driver.pictures.given else result.result

    return run
