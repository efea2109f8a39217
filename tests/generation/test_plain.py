"""The plain way: asked once, kept, never asked again."""

from concurrent.futures import ThreadPoolExecutor

from fluency.generation.audit import verify
from fluency.generation.request import request_for, request_key
from tests.generation.studies import KEY, ask, cells_of, generator_of, prompt_of, study_of


def test_every_cell_is_asked_once_and_answered_from_the_store_afterwards(endpoint, store):
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    study = study_of({"alias": "opus", "id": "claude-opus-4-7"}, {"alias": "sonnet", "id": "claude-sonnet-4-6"})
    cells = cells_of(study)
    with ThreadPoolExecutor(8) as pool:
        generator = generator_of(study, store, endpoint)
        first = list(pool.map(lambda cell: ask(generator, cell), cells))
        again = generator_of(study, store, endpoint)
        second = list(pool.map(lambda cell: ask(again, cell), cells))
    assert len(endpoint.requests) == len(cells) == 24 == verify(store).sound
    assert first == second
    bodies = {seen.prompt: seen.body for seen in endpoint.requests}
    for cell, record in zip(cells, first, strict=True):
        assert record.answer.text == f"echo '{prompt_of(cell)}'" and record.cell == cell
        assert record.answer.request_key == request_key(request_for(study, cell, prompt_of(cell)))
        assert record.cost_usd > 0
        body = bodies[prompt_of(cell)]
        assert {"thinking", "output_config", "seed", "system"}.isdisjoint(body)
        said = (body.get("temperature"), record.answer.request.temperature, record.temperature_requested)
        assert said == ((0.7, 0.7, 0.7) if cell.model == "sonnet" else (None, None, "provider-default"))


def test_an_embedded_model_gets_no_key_and_a_seed_of_its_own(endpoint, store):
    study = study_of({"alias": "qwen", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"})
    started = []
    generator = generator_of(study, store, endpoint, address_of=lambda m: started.append(m) or endpoint.url)
    records = [ask(generator, cell) for cell in cells_of(study)[:3]]
    assert len(started) == 1
    assert len({record.answer.request.seed for record in records}) == 3
    assert [seen.body["seed"] for seen in endpoint.requests] == [record.answer.request.seed for record in records]
    assert KEY not in str([seen.headers for seen in endpoint.requests])
    assert all(record.cost_usd == 0 and record.answer.server == "embedded" for record in records)
