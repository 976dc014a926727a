"""Text analysis, and full-text search in many languages on real sentences, without vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spaces import order, space

from remembrancer.search.index.entries import EntryDamaged, pack, unpack
from remembrancer.search.text.analysis import (
    analyze,
    contains,
    parse_query,
    words,
)
from remembrancer.search.text.languages import LANGUAGES, detect, stem

SENTENCES = {
    "en": (
        "We decided to host the launch party in Lisbon.",
        "My sister is allergic to peanuts.",
        "The server rack needs two new power supplies.",
    ),
    "de": (
        "Die Vertragsverlängerung wurde gestern unterschrieben.",
        "Meine Schwester spielt Geige im Orchester.",
        "Der Zug nach Köln fährt um acht Uhr ab.",
    ),
    "fr": (
        "Nous avons réservé une table au restaurant italien.",
        "Mon frère travaille à l'hôpital de Lyon.",
        "La réunion a été déplacée à jeudi.",
    ),
    "es": (
        "Compramos los billetes para el concierto de marzo.",
        "Mi abuela cocina lentejas los domingos.",
        "El proyecto termina la próxima semana.",
    ),
    "ru": (
        "Вчера мы ходили в книжный магазин на Арбате.",
        "Моя кошка боится грозы.",
        "Отчёт нужно сдать до пятницы.",
    ),
    "ar": (
        "ذهبت أمس إلى المكتبة الكبيرة في وسط المدينة",
        "أختي تدرس الطب في القاهرة",
        "نحتاج إلى شراء جهاز كمبيوتر جديد",
    ),
    "zh": (
        "我们昨天在北京烤鸭店吃了晚饭。",
        "她的妹妹在上海学习法律。",
        "会议改到星期四下午三点。",
    ),
    "ja": (
        "昨日、東京タワーの近くで寿司を食べました。",
        "妹は京都大学で物理を勉強しています。",
        "会議は木曜日の午後三時に変更されました。",
    ),
    "ko": (
        "어제 서울역에서 친구를 만났습니다.",
        "여동생은 부산에서 의학을 공부해요.",
        "회의는 목요일 오후 세 시로 바뀌었습니다.",
    ),
    "hi": ("कल हम पुराने किले देखने गए थे।", "मेरी बहन दिल्ली में पढ़ाती है।", "बैठक गुरुवार को होगी।"),
    "th": ("เมื่อวานเราไปกินก๋วยเตี๋ยวที่เชียงใหม่", "น้องสาวของฉันเรียนกฎหมาย", "การประชุมเลื่อนเป็นวันพฤหัสบดี"),
    "tr": (
        "Dün akşam bir balık restoranına gittik.",
        "Kız kardeşim Ankara'da öğretmen.",
        "Toplantı ve yemek perşembe gününe ertelendi.",
    ),
}

QUESTIONS = [
    ("en", "where is the party hosted", 0),
    ("en", "peanut allergy", 1),
    ("de", "Wann wurde der Vertrag verlängert? Verlängerung", 0),
    ("de", "Spielt jemand die Geigen?", 1),
    ("fr", "les tables réservées", 0),
    ("fr", "reunion", 2),  # without the accent
    ("es", "billete conciertos", 0),
    ("ru", "книжные магазины", 0),
    ("ru", "отчет", 2),  # е for ё
    ("ar", "مكتبة", 0),
    ("ar", "تَدْرُسُ", 1),  # with vowel signs
    ("zh", "北京烤鸭", 0),
    ("zh", "学法律的是谁 法律", 1),
    ("ja", "東京タワー", 0),
    ("ja", "物理の勉強", 1),
    ("ko", "서울역", 0),
    ("ko", "의학", 1),  # inflected in the sentence
    ("hi", "किले", 0),
    ("th", "เชียงใหม่", 0),
    ("tr", "restoran balık", 0),
]


@pytest.mark.parametrize(("language", "question", "answer"), QUESTIONS)
def test_query_finds_the_sentence_with_its_words(language, question, answer):
    view = space(*SENTENCES[language])

    assert order(view, question)[:1] == [answer]


@pytest.mark.parametrize(("language", "question", "answer"), [q for q in QUESTIONS if q[0] != "en"])
def test_query_finds_its_sentence_among_many_languages(language, question, answer):
    everything = [text for texts in SENTENCES.values() for text in texts]
    view = space(*everything)

    assert everything[order(view, question)[0]] == SENTENCES[language][answer]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Die Krankenversicherungskarte liegt im Auto.", "Krankenversicherung"),
        ("Die Krankenversicherungskarte liegt im Auto.", "Karte"),
        ("Wir haben die Haftpflicht für das Boot gekündigt.", "Haftpflichtversicherung"),
        ("De verjaardagstaart staat in de koelkast.", "taart"),
        ("Vi köpte en ny diskmaskin.", "maskin"),
    ],
)
def test_compounds_and_their_parts_match_each_other(text, query):
    view = space("Etwas ganz anderes über das Wetter.", text, "Noch ein Satz ohne Zusammenhang.")

    assert order(view, query)[:1] == [1]


def test_language_is_detected_by_script_and_stop_words():
    detected = {
        code: detect(words(" ".join(texts)), " ".join(texts)).code
        for code, texts in SENTENCES.items()
    }

    assert detected == {code: code for code in SENTENCES}


def test_every_language_has_months_and_a_stemmer():
    for language in LANGUAGES:
        assert set(language.months.values()) == set(range(1, 13))
        assert stem("abcdefgh", language.number)


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("我现在在哪里上班？", ["上班"]),
        ("我们家的宠物叫什么？", ["家", "宠物叫"]),
        ("私の仕事は何ですか？", ["仕事"]),
        ("犬の名前は何ですか？", ["犬", "名前"]),
        ("ร้านอาหารอยู่ที่ไหน", ["ร้านอาหารอยู่ที่ไหน"]),  # no stop words: one word
    ],
)
def test_query_without_spaces_is_cut_at_its_stop_words(query, content):
    parsed = parse_query(query)

    assert [word.text for word in parsed.words if not word.is_stop] == content
    assert "".join(word.text for word in parsed.words) == query.rstrip("？")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
NOON_MS = 1_683_547_200_000  # 2023-05-08 12:00 UTC


@given(TEXT, TEXT)
def test_analyzed_turns_survive_packing_and_unpacking(query, response):
    parts = analyze(query=query, response=response, topic=None, occurred_ms=NOON_MS)

    batch = unpack([(7, 1, NOON_MS, pack(parts), None)], 4)
    assert len(batch) == len(parts) >= 1
    assert batch.head["length"].tolist() == [part.length for part in parts]
    assert batch.term.tolist() == [one for part in parts for one in part.terms]
    assert set(batch.event.tolist()) == {7}


@given(st.binary(max_size=60))
def test_damaged_index_entries_raise_an_error_with_a_message(data):
    try:
        unpack([(0, 0, 0, data, None)], 0)
    except EntryDamaged as error:
        assert str(error)


@given(TEXT)
def test_text_contains_each_of_its_own_words(text):
    for word in text.split():
        assert contains(text, word)


@given(TEXT)
def test_any_query_can_be_parsed(text):
    assert parse_query(text, (0, 1, 2)).text == text


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("They met at the Co-op shop", "co-op", True),
        ("I was running late", "run", False),
        ("Version 2.10 is out", "2.1", False),
        ("Version 2.1 is out", "2.1", True),
        ("the blue   whale café", "Blue Whale", True),
        ("東京タワーに行きました", "タワー", True),
        ("어제 서울역에서 만났어요", "서울역", True),
        ("STRASSE", "straße", True),
        ("ｆｕｌｌ width", "full", True),
        ("anything", "   ", False),
        ("किताब की कीमत", "की", True),
        ("इसकी कीमत", "की", False),  # marks are parts of a word
        ('He said "NEAR(a b)" OR nothing*', '"near(a', True),
    ],
)
def test_phrases_match_whole_words_in_any_case_and_width(text, phrase, expected):
    assert contains(text, phrase) is expected
