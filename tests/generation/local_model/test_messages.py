"""The translation between the two APIs loses nothing that changes an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fluency.generation.local_model.translation import from_chat, to_chat

SAMPLING = st.dictionaries(st.sampled_from(["temperature", "top_p", "top_k", "min_p", "seed"]), st.integers(0, 9))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), SAMPLING)
def test_every_sampling_field_and_every_text_block_arrives(texts, sampling):
    blocks = [{"type": "text", "text": text} for text in texts]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]} | sampling
    chat = to_chat(body)
    assert chat["messages"] == [{"role": "user", "content": "".join(texts)}]
    assert {key: chat[key] for key in sampling} == sampling
    assert chat["max_tokens"] == 9 and chat["cache_prompt"] is False


def test_system_and_stop_sequences_are_renamed_and_the_rest_left_out():
    body = {
        "model": "m",
        "max_tokens": 1,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "hi"}],
        "stop_sequences": ["\n"],
        "metadata": {"user_id": "u"},
        "thinking": {"type": "disabled"},
    }
    assert to_chat(body) == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stop": ["\n"],
        "max_tokens": 1,
        "cache_prompt": False,
    }


def test_an_empty_answer_has_no_block():
    reply = {"choices": [{"finish_reason": "stop", "message": {"content": ""}}], "usage": {"prompt_tokens": 3}}
    message = from_chat(reply, "m")
    assert message["content"] == [] and message["stop_reason"] == "end_turn"
    assert message["usage"] == {"input_tokens": 3, "output_tokens": 0}
