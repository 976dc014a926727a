"""Lessons as agents write them: (topic, essence, rules)."""

ENGLISH = {
    "a kettle": (
        "kettles",
        "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
        "- MUST boil one part vinegar with two parts water.\n- SHALL rinse twice before use.",
    ),
    "timeouts": (
        "python requests",
        "requests has no default timeout.",
        "- MUST pass timeout= to every requests call.",
    ),
    "terse": (
        "nginx reload",
        "Run nginx -t before reload.",
        "- MUST run nginx -t; SHALL NOT restart.",
    ),
    "very terse": (
        "pip cache",
        "pip cache purge fixes hash mismatch after interrupted download",
        "- MUST purge cache, then retry once.",
    ),
    "docker": (
        "docker layers",
        "COPY requirements first, then source.",
        "- MUST order Dockerfile layers from stable to volatile.",
    ),
    "git": (
        "git bisect",
        "git bisect run finds what broke a test.",
        "1. MUST have a test that fails.\n2. SHALL use `git bisect run`.",
    ),
    "sql": (
        "sqlite WAL",
        "WAL mode lets readers and one writer work at once.",
        "- MUST set journal_mode=WAL at open; - SHALL checkpoint.",
    ),
    "regex": (
        "regex",
        "Nested repetition backtracks without end.",
        "- MUST NOT nest it: (a+)+.\n- SHALL bound repetition: {1,64}.",
    ),
    "generics": (
        "typing",
        "list is invariant, Sequence is covariant.",
        "- SHALL take Sequence[int] where a list need not be changed.",
    ),
    "culture": (
        "meetings in Japan",
        "A silence in a meeting is thinking, not refusal.",
        "- SHALL wait before asking again.",
    ),
    "loan words": (
        "naïve dates",
        "Naïve datetimes cost us a café's bookings twice.",
        "- MUST store UTC; SHALL convert at the edge.",
    ),
    "units": (
        "timers",
        "A sleep of 50 µs takes 100 µs.",
        "- MUST NOT rely on sleeps below 1 ms; the Δ is too large.",
    ),
    "du and die": (
        "disk usage",
        "du -sh counts hard links once; a die is not random enough.",
        "- SHALL use du -sh and secrets.choice.",
    ),
    "k8s": (
        "kubectl",
        "kubectl rollout undo reverts a deployment.",
        "- MUST check rollout status after apply.",
    ),
    "comparison": (
        "sorting",
        "For n < 50 insertion sort is faster.",
        "- SHALL use insertion sort when n < 50 & data is nearly sorted.",
    ),
    "shift": ("bits", "1 << 32 overflows an int in C.", "- MUST write 1ULL << 32."),
    "table": (
        "ports",
        "The port is taken when bind fails with 98.",
        "| errno | meaning |\n|---|---|\n| 98 | in use |",
    ),
    "files": (
        "packaging",
        "setup.py is not needed with pyproject.toml.",
        "- SHALL drop setup.py and keep pyproject.toml,.",
    ),
    "calls": (
        "numpy",
        "numpy.dot of two int8 arrays overflows.",
        "- MUST cast before numpy.dot(a, b).",
    ),
    "emoji": (
        "commit style ✅",
        "Reviewers read the first line only ⚠️ of a commit.",
        "- SHALL keep it below 60 characters.",
    ),
}

FOREIGN = {
    "German": (
        "Wasserkocher",
        "Zum Entkalken nimmt man Essig und keine Bürste.",
        "- MUSS mit zwei Teilen Wasser aufgekocht werden.",
    ),
    "German, plain letters": (
        "Kaffee",
        "Kaffee erst kurz vor dem Aufguss mahlen.",
        "- MUST die Bohnen frisch mahlen.",
    ),
    "German, no little words": (
        "Kaffee",
        "Bohnen frisch mahlen, Wasser kochen.",
        "- MUST Kaffee mahlen.",
    ),
    "German rules only": (
        "kettles",
        "Descaling takes vinegar.",
        "- Zuerst den Kessel leeren, dann mit Essig auskochen und spülen.",
    ),
    "Spanish": (
        "teteras",
        "Para quitar la cal basta con vinagre y diez minutos.",
        "- DEBE hervir una parte de vinagre con dos de agua.",
    ),
    "Spanish, no accents": ("cafe", "Hervir agua, moler granos frescos.", "- MUST moler granos."),
    "French": (
        "bouilloires",
        "Le vinaigre suffit pour enlever le calcaire.",
        "- DOIT bouillir dix minutes avec deux parts d'eau.",
    ),
    "Italian": (
        "bollitori",
        "Per togliere il calcare basta l'aceto.",
        "- DEVE bollire dieci minuti con due parti di acqua.",
    ),
    "Portuguese": (
        "chaleiras",
        "Para tirar o calcário basta vinagre.",
        "- DEVE ferver uma parte de vinagre com duas de água.",
    ),
    "Dutch": (
        "waterkoker",
        "Met azijn is de ketel in tien minuten schoon.",
        "- MOET een deel azijn met twee delen water koken.",
    ),
    "Swedish": (
        "vattenkokare",
        "Med vinäger blir kokaren ren på tio minuter.",
        "- SKA koka en del vinäger med två delar vatten.",
    ),
    "Polish": (
        "czajniki",
        "Do odkamieniania wystarczy ocet.",
        "- MUSI gotować się dziesięć minut z wodą.",
    ),
    "Turkish": (
        "su ısıtıcı",
        "Kireç için sirke yeterlidir.",
        "- Bir ölçü sirke ve iki ölçü su ile kaynatılmalıdır.",
    ),
    "Indonesian": (
        "ketel",
        "Cuka sudah cukup untuk membersihkan kerak.",
        "- HARUS direbus dengan dua bagian air.",
    ),
    "Russian": (
        "чайники",
        "Для удаления накипи достаточно уксуса.",
        "- ДОЛЖЕН кипеть десять минут.",
    ),
    "Russian rules only": (
        "kettles",
        "Vinegar is enough to descale a kettle.",
        "- ДОЛЖЕН кипеть десять минут с водой.",
    ),
    "Chinese": ("水壶", "用醋除垢只需十分钟。", "- 必须用一份醋和两份水煮沸。"),
    "Chinese between": (
        "kettles",
        "Vinegar is enough to 除垢 a kettle.",
        "- MUST boil it with water.",
    ),
    "Japanese": ("やかん", "酢で十分きれいになります。", "- 必ず二倍の水で沸かすこと。"),
    "Korean": ("주전자", "식초면 충분합니다.", "- 물과 함께 끓여야 한다."),
    "Arabic": ("غلايات", "الخل يكفي لإزالة الترسبات.", "- يجب أن يغلي عشر دقائق."),
    "Hindi": ("केतली", "सिरका काफी है।", "- दस मिनट उबालना चाहिए।"),
    "a look-alike letter": (
        "kettles",
        "Vinegar is еnough to descale a kettle.",
        "- MUST boil it with water.",
    ),
    "letters of mathematics": (
        "kettles",
        "𝐕𝐢𝐧𝐞𝐠𝐚𝐫 is enough to descale a kettle.",
        "- MUST boil it with water.",
    ),
    "no words": ("42", "1 2 3", "- 4"),
}
