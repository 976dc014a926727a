"""Print the HTTP headers of an agent's MCP requests as JSON, with the key that the hooks use.

    python3 -I -S remembrancer_headers.py

Claude Code runs it as `headersHelper` of the MCP server whenever it connects. Source:
code.claude.com/docs/en/mcp, "Use dynamic headers for custom authentication".
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I omits the script's own folder

from hook_service import InvalidSetupError, Settings

if __name__ == "__main__":
    try:
        key = Settings(dict(os.environ), "claude-code").key()
    except InvalidSetupError as error:
        sys.exit(f"remembrancer: {error}")
    sys.stdout.write(json.dumps({"Authorization": f"Bearer {key}"}))
