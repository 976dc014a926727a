"""Facts that were all answered with the same words, and everyday questions about them."""

from __future__ import annotations

import pytest
from service import Http

ENGLISH = {
    "I drive a blue Volvo.": "Which car do I drive?",
    "The rent of my flat is 950 euros.": "How much rent do I pay?",
    "My boss is called Ingrid.": "What is my boss called?",
    "My dog Rufus is afraid of thunder.": "What is my dog afraid of?",
    "I go swimming every Thursday.": "On which day do I swim?",
    "My sister lives in Porto.": "Where does my sister live?",
}
GERMAN = {
    "Mein Auto ist ein blauer Volvo.": "Was für ein Auto habe ich?",
    "Die Miete meiner Wohnung beträgt 950 Euro.": "Wie hoch ist meine Miete?",
    "Meine Chefin heißt Ingrid.": "Wie heißt meine Chefin?",
    "Mein Hund Rufus hat Angst vor Gewitter.": "Wovor hat mein Hund Angst?",
    "Ich gehe jeden Donnerstag schwimmen.": "An welchem Tag gehe ich schwimmen?",
    "Meine Schwester wohnt in Porto.": "Wo wohnt meine Schwester?",
}
CHINESE = {
    "我开一辆蓝色的沃尔沃汽车。": "我开什么汽车？",
    "我的房租是每月九百五十欧元。": "我的房租是多少？",
    "我的老板叫英格丽德。": "我的老板叫什么名字？",
    "我的狗怕打雷。": "我的狗怕什么？",
    "我每周四去游泳。": "我星期几去游泳？",
    "我的姐姐住在波尔图。": "我的姐姐住在哪里？",
}
JAPANESE = {
    "私は青いボルボの車に乗っています。": "私はどんな車に乗っていますか？",
    "私の家賃は九百五十ユーロです。": "私の家賃はいくらですか？",
    "私の上司の名前はイングリッドです。": "私の上司の名前は何ですか？",
    "私の犬は雷を怖がります。": "私の犬は何を怖がりますか？",
    "私は毎週木曜日に泳ぎに行きます。": "私は何曜日に泳ぎに行きますか？",
    "私の姉はポルトに住んでいます。": "私の姉はどこに住んでいますか？",
}


@pytest.mark.parametrize(
    ("facts", "reply"),
    [
        (ENGLISH, "Noted."),
        (ENGLISH, "Okay, I will remember that for you."),
        (ENGLISH, "Got it, I have saved this to your memory."),
        (GERMAN, "Alles klar, das habe ich mir gemerkt."),
        (CHINESE, "好的，记下了。"),
        (JAPANESE, "承知しました。"),
    ],
)
def test_turns_with_the_same_reply_are_told_apart(
    http: Http, facts: dict[str, str], reply: str
) -> None:
    """The words of a reply that all turns have put none above the turn that answers."""
    for fact in facts:
        http.remember(fact, reply, session_id="facts")

    first = {
        fact: http.memory(question, session_id="later", interact=False)["hits"][0]["query"]
        for fact, question in facts.items()
    }

    assert first == {fact: fact for fact in facts}
