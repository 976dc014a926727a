"""Names of the interpreters of other languages. Their module is imported only for one of these."""

from __future__ import annotations

# Options with code, and other options with a value, of each interpreter.
LANGUAGES = {
    "python": ("c", "mWX", ""),
    "pypy": ("c", "mWX", ""),
    "perl": ("eE", "IMmFx", ""),
    "ruby": ("e", "IrCEFK", ""),
    "node": ("ep", "r", "eval print require import"),
    "nodejs": ("ep", "r", "eval print require import"),
    "bun": ("ep", "", "eval print"),
    "deno": ("", "", ""),
    "tsx": ("ep", "", "eval print"),
    "ts-node": ("ep", "rPO", "eval print"),
    "php": ("rRBE", "dcf", "run"),
    "lua": ("e", "l", ""),
    "luajit": ("e", "l", ""),
    "Rscript": ("e", "", ""),
    "julia": ("eE", "Lp", "eval print"),
    "elixir": ("e", "r", "eval"),
    "erl": ("", "", "eval"),
    "guile": ("c", "lL", ""),
    "tclsh": ("", "", ""),
    "expect": ("c", "f", ""),
    "osascript": ("e", "l", ""),
    "groovy": ("e", "", ""),
    "scala": ("e", "", ""),
    "jshell": ("", "", ""),
    "raku": ("e", "", ""),
    "emacs": ("", "l", "eval execute"),
    "gdb": ("", "", "ex eval-command iex"),
    "lldb": ("o", "s", "one-line"),
    "psql": ("c", "dhpUvfoFPRL", "command file output dbname host port username"),
    "mysql": ("e", "uhPDp", "execute tee"),
    "mariadb": ("e", "uhPDp", "execute tee"),
    "sqlite": ("", "", "cmd"),
    "sqlite3": ("", "", "cmd"),
    "jrunscript": ("e", "", ""),
    "gnuplot": ("e", "", ""),
    "octave": ("", "", "eval"),
    "octave-cli": ("", "", "eval"),
    "R": ("e", "", ""),
    "pwsh": ("c", "", "Command"),
    "ghc": ("e", "", ""),
}
SHELLS = "sh bash zsh dash ksh ash mksh fish rbash csh tcsh elvish xonsh nu yash".split()
SEDS = ("sed", "gsed")
AWKS = ("awk", "gawk", "mawk", "nawk")
EDITORS = "ed red ex vi vim nvim view gvim rvim vimdiff".split()
NAMES = frozenset((*LANGUAGES, *SHELLS, *SEDS, *AWKS, *EDITORS))
