"""Create and erase files until killed; print a line per acknowledged operation.

`+ NAME DIGEST` after a creation, `? NAME` before and `- NAME` after an erasure.
"""

import hashlib
import os
import sys
import threading
from pathlib import Path

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.context import new_id
from remembrancer.files.files import create_file, erase_file
from remembrancer.protocol.files import FileCreate
from remembrancer.search.embedders.port import NoEmbedder

context = testing.context(Path(sys.argv[1]), ids=new_id, embedder=NoEmbedder())
caller = caller_for(context)


def tell(thread: int) -> None:
    """Create files; erase every third."""
    for n in range(1_000_000):
        content = f"{sys.argv[2]} {thread} {n} " * 5_000
        file = create_file(
            context, caller, FileCreate(filename=f"f{n}", content=content, type="txt")
        )
        os.write(1, f"+ {file.filename} {hashlib.sha256(content.encode()).hexdigest()}\n".encode())
        if n % 3 == 0:
            os.write(1, f"? {file.filename}\n".encode())
            erase_file(context, caller, file.filename)
            os.write(1, f"- {file.filename}\n".encode())


for thread in range(2):
    threading.Thread(target=tell, args=(thread,)).start()
