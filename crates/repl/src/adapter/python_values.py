

def compact(value, show):
    """Calls `show` for a value. Meanwhile a table of pandas or polars is compact: its text has its shape and at most 20 rows and columns, and
    its rows are not wrapped. Options that the session has set stay."""
    try:
        options = table_options(value)
    except Exception:
        # Another version of the library.
        options = None
    if options is None:
        return show()
    with options:
        return show()


def table_options(value):
    """Returns the context for a table, or None for another value."""
    for kind in type.__dict__["__mro__"].__get__(type(value)):
        package = str(kind.__module__).partition(".")[0]
        if kind.__name__ not in ("DataFrame", "Series") or package not in sys.modules:
            continue
        library = sys.modules[package]
        if package == "pandas":
            options = ["display.expand_frame_repr", False, "display.show_dimensions", True]
            # Only where the session has left the default.
            for name, default in (("display.max_rows", 60), ("display.max_columns", 0)):
                if library.get_option(name) == default:
                    options += [name, 20]
            return library.option_context(*options)
        if package == "polars":
            kept = library.Config.state(if_set=True)
            given = {
                "POLARS_FMT_TABLE_FORMATTING": ("tbl_formatting", "NOTHING"),
                "POLARS_FMT_MAX_COLS": ("tbl_cols", 20),
                "POLARS_TABLE_WIDTH": ("tbl_width_chars", 2000),
            }
            return library.Config(**dict(given[name] for name in given if name not in kept))
    return None
