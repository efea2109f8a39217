"""The model of the default study, for real, through the SDK: it must answer tasks with plausible commands."""

from fluency.core.tasks import load_tasks
from fluency.execution.extract import extract
from fluency.generation.request import build_prompt

PROGRAMS = {
    "bash": {"find", "grep", "ls", "awk", "sed", "cd", "for", "cat", "jq", "curl", "ps", "wc", "git", "cargo", "echo"},
    "pwsh": {"get-childitem", "get-content", "select-string", "get-process", "invoke-webrequest", "foreach-object"},
}


def test_the_default_model_answers_a_task_with_a_command_of_the_shell(default_server, client_of):
    client = client_of(default_server)
    (task,) = load_tasks(["recent-large-files"])
    plausible = {}
    for shell, programs in PROGRAMS.items():
        replies = []
        for seed in (1, 2):
            reply = client.chat.completions.create(
                model=default_server.model_id,
                max_tokens=64,
                messages=[{"role": "user", "content": build_prompt(task.prompt, shell)}],
                temperature=0.7,
                seed=seed,
            )
            assert reply.model == "qwen2.5-coder-0.5b-instruct"
            replies.append(extract(reply.choices[0].message.content).lenient or "")
        assert len(set(replies)) > 1, "trials must vary"
        plausible[shell] = [text for text in replies if programs & set(text.lower().replace("|", " ").split())]
    assert all(plausible.values()), plausible
