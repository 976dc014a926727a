"""Options whose value is a file that a program writes."""

from __future__ import annotations

import re

from .values import UNKNOWNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .calls import Call

# Options whose value is written, by program: letters, or long names.
_OUTPUT_OPTIONS = {
    "curl": "o D c output dump-header cookie-jar trace trace-ascii stderr output-dir etag-save hsts"
    " alt-svc libcurl",
    "wget": "O o a P output-document output-file append-output directory-prefix save-cookies"
    " warc-file rejected-log",
    "sort": "o output",
    "shuf": "o output",
    "csplit": "f prefix",
    "strace": "o",
    "ltrace": "o",
    "tcpdump": "w",
    "tshark": "w",
    "dumpcap": "w",
    "gpg": "o output",
    "age": "o",
    "age-keygen": "o",
    "ssh-keygen": "f",
    "pg_dump": "f file",
    "pg_dumpall": "f file",
    "pg_basebackup": "D pgdata",
    "initdb": "D pgdata",
    "mysqldump": "r result-file",
    "mongodump": "o out",
    "uudecode": "o",
    "nmap": "oN oX oG oA",
    "openssl": "out keyout",
    "javac": "d",
    "time": "o output",
    "valgrind": "log-file",
    "iconv": "o output",
    "pip": "t target prefix root",
    "npm": "prefix",
    "pnpm": "C dir",
    "mktemp": "p tmpdir",
    "screen": "Logfile",
    "Xvfb": "fbdir",
    "ar": "output",
    "cpio": "D F O directory",
    "7z": "o",
    "7za": "o",
    "bsdtar": "C",
    "logrotate": "s state",
    "base64": "o output",
    "dig": "",
}
_GENERIC_OUTPUT = re.compile(
    r"o|chdir|directory|work(?:ing)?-?dir(?:ectory)?|extract-to|git-dir"
    r"|out(?:put)?(?:[-_]?(?:file|dir|directory|path|folder|document))?|dest(?:ination)?"
    r"(?:[-_]?dir)?|log-?file|save(?:-to)?|target-directory|outputfile|report-file|junit-?xml"
)
# Those of REMOTE that also copy between this machine and others, in the order of their arguments.
CLOUD = frozenset(
    "aws gcloud gsutil az rclone s3cmd s4cmd s5cmd azcopy terraform tofu pulumi ansible "
    "ansible-playbook helm vagrant".split()
)
# Arguments of these name files elsewhere: in containers and on other machines.
REMOTE = frozenset(
    "docker podman nerdctl kubectl oc helm vagrant lxc incus adb multipass gcloud aws az "
    "gsutil rclone s3cmd s4cmd s5cmd azcopy tofu heroku fly gh glab "
    "systemd-nspawn ansible ansible-playbook terraform pulumi http https xh "
    "websocat jira claude codex gemini aider curlie mosquitto_pub redis-cli mongosh logger "
    "notify-send say seq expr bc uuidgen figlet".split()
)


def check_outputs(call: Call) -> set[int]:
    """Check the options whose value is written; return the positions of these values."""
    names = set(_OUTPUT_OPTIONS.get(call.name, "").split())
    positions = set()
    for position, word in enumerate(call.arguments):
        match = re.match(r"(--?)([A-Za-z][\w-]*)(=?)(.*)", word, re.DOTALL)
        if not match:
            continue
        dashes, name, sign, value = match.groups()
        is_output = name in names or bool(_GENERIC_OUTPUT.fullmatch(name) and len(name) > 1)
        is_output = is_output or (name == "o" and call.name not in REMOTE)
        if is_output and sign:
            positions.add(position)
            call.write(value)
        elif is_output and position + 1 < len(call.arguments):
            positions.add(position + 1)
            call.write(call.arguments[position + 1])
        elif dashes == "-":
            letters = "".join(one for one in names if len(one) == 1) or "o"
            cluster = re.match(rf"-[A-Za-z]*?([{letters}])(.*)", word, re.DOTALL)
            if cluster and (cluster[2] or names):
                if cluster[2]:
                    if cluster[2].startswith(("/", "~", ".")) or UNKNOWNS.match(cluster[2]):
                        call.write(cluster[2])
                elif position + 1 < len(call.arguments):
                    positions.add(position + 1)
                    call.write(call.arguments[position + 1])
    return positions
