"""System folders, and the real paths behind the names in a tool call.

The project, the user's own home and temporary folders contain no system files, and programs in the
usual folders need no grant to be run.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATH_CHARACTERS_MAX = 4096
MATCHES_MAX = 12  # paths of one wildcard that are checked
SEARCHES_MAX = 500  # folders compared with the wildcards of one path
ENTRIES_MAX = 2000  # of a folder, compared with a wildcard

# Folders of the system, its services and other people. The longest match decides: folders in FREE
# need no grant even if they are below one in WRITE or READ.
WRITE = (
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin "
    "/srv /sys /usr /var /Applications /Library /System /Users /Volumes /cores /nix /snap"
).split()
READ = (
    "/boot /etc /home /root /srv /sys/firmware /var/backups /var/lib /var/log /var/mail /var/spool "
    "/Users /proc/kcore"
).split()
FREE = (
    "/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin "
    "/dev/stdout /dev/tcp /dev/tty /dev/udp /dev/urandom /dev/zero /proc/self /tmp /var/tmp "
    "/var/folders /Users/Shared"
).split()
# Folders of agents and of tools for programming, in a home that is /root.
AGENT_FOLDERS = (
    ".claude .codex .cursor .agents .cache .local/state .local/share .local/bin .local/lib .cargo "
    ".rustup .npm .nvm .node-gyp .yarn .bun .deno .volta .pyenv .rbenv .gem .gradle .m2 .conda go"
).split()
SECRET_FOLDERS = (".ssh", ".gnupg")  # in the user's own home: keys of other machines
# What a reader could use in somebody's name: read with a grant, where other files need none.
SECRETS = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d "
    "/etc/security/opasswd /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt/live "
    "/etc/letsencrypt/archive /etc/krb5.keytab /etc/wireguard /var/backups/shadow.bak "
    "/etc/NetworkManager/system-connections /etc/ssh/ssh_host_rsa_key /proc/kcore"
).split()
_SECRET_NAMES = re.compile(
    r"/etc/ssh/[^/]*_key|/(?:etc|home|opt|root|srv|usr|var|Users)/.*"
    r"(?:\.(?:key|p12|pfx|jks|kdbx|keytab)|/privkey[^/]*\.pem)"
    r"|/dev/(?:[shv]d[a-z]|xvd|nvme|mmcblk|dm-|mapper/|disk/|r?disk[0-9]|k?mem$|port$).*"
)
_SECRETS_OF_HOME = re.compile(
    r"\.ssh(?:/(?!(?:config|known_hosts[^/]*|authorized_keys|[^/]*\.pub)$).*)?"
    r"|\.(?:gnupg|aws|azure|kube|password-store|config/gcloud)(?:/.*)?"
    r"|\.(?:netrc|pgpass|git-credentials|pypirc|docker/config\.json|config/gh/hosts\.yml)"
)
_HOME = re.compile(r"/(?:root|(?:home|Users)/[^/]+)(?=/|$)")
PROGRAM_FOLDERS = (
    "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/lib /usr/libexec /opt /nix "
    "/snap /Applications"
).split()
# Where capital letters in the name of a system folder are another spelling of the same folder.
_FOLDED = [folder for folder in WRITE if folder.islower() or sys.platform == "darwin"]
_DESCRIPTORS = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/[0-9]+)|/proc/self/fd/[0-9]+")
_IGNORABLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# Letters and signs that look like those of a path.
_ALIKE = str.maketrans(
    "∕⁄⧸╱∖․‥авегіјкмнорсѕтухԁԛԝ",
    "/" * 4 + "\\.." + "abeгijkmhopcstyxdqw",
)


class Location:
    """Location of a tool call: its working folder, the projects, and the user's home.

    With `reads`, all reads of system files need a grant, else only those of secrets.
    """

    def __init__(self, cwd: str, projects: list[str], home: str, *, reads: bool = False) -> None:
        self.cwd, self.reads = cwd or "/", reads
        self.home = os.path.realpath(home)
        real_paths = [os.path.realpath(project) for project in projects]
        self.projects = [path for path in real_paths if path != "/"]

    def moved(self, cwd: str) -> Location:
        """Return the same location with another working folder."""
        other = Location.__new__(Location)
        other.cwd, other.reads = cwd, self.reads
        other.home, other.projects = self.home, self.projects
        return other

    def target(
        self,
        path: str,
        action: str,
        *,
        links: Mapping[str, str] | None = None,
        follows: bool = True,
    ) -> tuple[str, str] | None:
        """Return the resolved path and the action; None if no grant is needed.

        The action `list` reads names, not contents, and is returned as `read`. `links` are
        symbolic links that do not exist yet. With `follows=False`, the last component is not
        resolved: a link itself is deleted or replaced.
        """
        path = path.replace("\0", "")  # shells drop it
        if not path or len(path) > PATH_CHARACTERS_MAX:
            return None
        for name in _spellings(path):
            joined = os.path.join(self.cwd, self.expand_home(name))
            if _DESCRIPTORS.fullmatch(joined):
                continue  # what it was opened for is checked there
            if action == "read" and any(sign in joined for sign in "*?["):
                for secret in SECRETS:  # of a wildcard only some matches are looked at
                    if fnmatch.fnmatchcase(secret, joined):
                        return secret, action
            for candidate in resolved(joined, links or {}, self.cwd, follows=follows):
                real_path = _in_lower_case(_without_private(candidate))
                for possible in dict.fromkeys((_without_private(candidate), real_path)):
                    if not self._is_free(possible, action):
                        return possible, "read" if action == "list" else action
        return None

    def expand_home(self, path: str) -> str:
        """Replace a leading ~ or $HOME."""
        if path in ("~", "$HOME", "${HOME}") or path.startswith(("~/", "$HOME/", "${HOME}/")):
            return self.home + path[path.find("/") :] if "/" in path else self.home
        if path == "~root" or path.startswith("~root/"):
            return os.path.expanduser("~root").replace("~root", "/root") + path[5:]
        return os.path.expanduser(path) if path.startswith("~") else path

    def is_own(self, path: str) -> bool:
        """Return True for a path in the project, the user's home or a temporary folder."""
        names = AGENT_FOLDERS if self.home == "/root" else ("",)
        homes = [os.path.join(self.home, name) for name in names]
        folders = (*self.projects, *FREE, *homes, *self._temporary_folders())
        return any(_is_below(path, folder.rstrip("/")) for folder in folders)

    def _is_free(self, path: str, action: str) -> bool:
        """Return True if the action on this path needs no grant."""
        if action in ("read", "list") and not self.reads:
            return action == "list" or not self._is_secret(path)
        if any(_is_below(path, os.path.join(self.home, name)) for name in SECRET_FOLDERS):
            return False
        if self.is_own(path):
            return action != "read" or not self._is_secret(path)
        if action == "exec":
            return (
                _is_below(path, self.home)
                or not any(_is_below(path, folder) for folder in WRITE)
                or any(_is_below(path, folder) for folder in PROGRAM_FOLDERS)
            )
        if action in ("read", "list"):
            is_held = any(_is_below(path, folder) for folder in READ)
            return not is_held and (action == "list" or not self._is_secret(path))
        is_any = path == "/" or path.startswith(("/*", "/[*]"))
        return not is_any and not any(_is_below(path, folder) for folder in WRITE)

    def _is_secret(self, path: str) -> bool:
        """Return True for a file that holds a secret, and a folder of others that holds one."""
        if any(_is_below(path, folder) for folder in (*self.projects, *FREE)):
            return False
        path = path.rstrip("/") or "/"
        homes = (self.home, *(match[0] for match in [_HOME.match(path)] if match))
        for home in homes:
            if _is_below(path, home) and _SECRETS_OF_HOME.fullmatch(path[len(home) + 1 :]):
                return True
        if self.is_own(path):
            return False
        if path in ("/", "/home", "/Users", *homes[1:]) or _SECRET_NAMES.fullmatch(path):
            return True
        return any(_is_below(secret, path) or _is_below(path, secret) for secret in SECRETS)

    def _temporary_folders(self) -> list[str]:
        folder = os.environ.get("TMPDIR") or ""
        path = _without_private(_real_path(folder)) if folder.startswith("/") else ""
        return [path] if path.count("/") > 1 else []


def resolved(
    path: str, links: Mapping[str, str], cwd: str, *, follows: bool = True
) -> Iterator[str]:
    """Yield the absolute paths that a path with wildcards can mean, with links resolved."""
    if not links and not re.search(r"[*?\[]|/proc/", path):
        yield _real_path(path) if follows else _real_parent(path)
        return
    found_paths = [""]
    searches = 0
    components = [component for component in path.split("/") if component not in ("", ".")]
    for number, component in enumerate(components):
        is_last = number == len(components) - 1
        following = []
        for folder in found_paths:
            searches += 1
            is_limited = searches > SEARCHES_MAX
            for name in [component] if is_limited else _matches(folder or "/", component):
                if name == "..":
                    following.append(os.path.dirname(_real_path(folder or "/")).rstrip("/"))
                elif is_last and not follows:
                    following.append(f"{folder}/{name}")
                else:
                    following.append(_linked(f"{folder}/{name}", links, cwd))
        found_paths = list(dict.fromkeys(following))[:MATCHES_MAX]
    for found_path in found_paths:
        yield _real_path(found_path or "/") if follows else _real_parent(found_path or "/")


def _linked(path: str, links: Mapping[str, str], cwd: str) -> str:
    """Return the target of a link of `/proc` or one that the same command makes."""
    if re.fullmatch(r"/proc/[^/]+(/task/[^/]+)?/root", path):
        return ""
    if re.fullmatch(r"/proc/[^/]+(/task/[^/]+)?/cwd", path):
        return cwd.rstrip("/")
    if path not in links:
        return path
    others = {place: target for place, target in links.items() if place != path}
    return next(resolved(links[path] or "/", others, cwd)).rstrip("/")


def _matches(folder: str, pattern: str) -> list[str]:
    """Return the names in a folder that match; the pattern itself if there are none.

    In the root folder, the system folders count even if this machine lacks them.
    """
    if not any(sign in pattern for sign in "*?["):
        return [pattern]
    pattern = re.sub(r"\[[!^]?(?:\[:\w+:\])+[^\]]*\]", "?", pattern).replace("[^", "[!")
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for _, entry in zip(range(ENTRIES_MAX), entries, strict=False)}
    except OSError:
        pass
    names = {name for name in names if fnmatch.fnmatchcase(name, pattern)}
    if folder == "/" and not any(f"/{name}" in WRITE for name in names):
        system_names = {name.split("/")[1] for name in (*WRITE, *READ)}
        names |= {name for name in system_names if fnmatch.fnmatchcase(name, pattern)}
    return sorted(names, key=lambda name: (f"/{name}" not in WRITE, name)) or [pattern]


def _spellings(path: str) -> list[str]:
    """Return the path, and what it is for a file system that compares names loosely.

    Wide and look-alike signs are other files on Linux; nobody needs them in a system path.
    """
    if path.isascii():
        return [path]
    import unicodedata

    visible = re.sub(f"[{_IGNORABLE}]", "", path)
    plain = unicodedata.normalize("NFKC", visible).translate(_ALIKE)
    return list(dict.fromkeys((path, plain)))


def _in_lower_case(path: str) -> str:
    """Return the path with a system folder as the system spells it: /ETC/x is /etc/x."""
    for folder in _FOLDED:
        if _is_below(path.lower(), folder.lower()):
            return folder + path[len(folder) :]
    return path


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def _real_parent(path: str) -> str:
    stripped = path.rstrip("/")
    name = os.path.basename(stripped)
    if name in ("", ".", ".."):
        return _real_path(path)
    return os.path.join(_real_path(os.path.dirname(stripped)), name)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _without_private(path: str) -> str:
    """Remove macOS's prefix `/private`, which paths in commands and grants omit."""
    is_private = path.startswith(("/private/etc", "/private/var", "/private/tmp"))
    return path.removeprefix("/private") if is_private else path
