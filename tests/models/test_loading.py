import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers

from rung.errors import ConfigError, TemplateError
from rung.models import loading
from rung.models.loading import load_policy
from rung.models.packed import use_packed_attention
from rung.models.tiny import tiny_policy


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    tiny_policy().save(tmp_path / "policy")
    return tmp_path / "policy"


def test_save_and_load_give_the_same_policy(saved: Path) -> None:
    policy, loaded = tiny_policy(), load_policy(str(saved))
    weights = loaded.model.state_dict()
    assert weights.keys() == policy.model.state_dict().keys()
    for name, tensor in policy.model.state_dict().items():
        assert torch.equal(weights[name], tensor)
    assert loaded.chat.stop_ids == policy.chat.stop_ids
    messages = [{"role": "user", "content": "Count from 0 to 5.<|end|>"}]
    assert loaded.chat.prompt(messages) == policy.chat.prompt(messages)
    assert not loaded.model.training


def test_a_policy_that_ran_packed_is_saved_as_an_ordinary_one(tmp_path: Path) -> None:
    policy = tiny_policy()
    use_packed_attention(policy.model)
    policy.save(tmp_path)
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        expected = tiny_policy().model(ids).logits
        torch.testing.assert_close(load_policy(str(tmp_path)).model(ids).logits, expected)


def test_weights_kept_in_half_precision_come_back_in_full(tmp_path: Path) -> None:
    policy = tiny_policy()
    policy.model.to(torch.bfloat16)
    policy.save(tmp_path)
    loaded = load_policy(str(tmp_path)).model.state_dict()
    assert {tensor.dtype for tensor in loaded.values()} == {torch.float32}
    for name, tensor in policy.model.state_dict().items():
        assert torch.equal(loaded[name], tensor.float())


def test_base_is_the_folder_beside_the_code(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loading.base_policy_path().parent == Path(loading.__file__).parent
    monkeypatch.setattr(loading, "base_policy_path", lambda: saved)
    assert load_policy("base").chat.stop_ids == {1}


@pytest.mark.parametrize("name", ["", "no-such-model", "a/b/c", "white space", "base "])
def test_an_unknown_name_is_refused_with_a_hint(name: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be loaded: \S.*\nhint: give 'base'"):
        load_policy(name)


def test_an_error_without_words_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_settings: object) -> None:
        raise OSError

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(ConfigError, match="cannot be loaded: OSError"):
        load_policy(str(saved))


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def broken_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"not weights")


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


def set_config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return change


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (without_weights, "model.safetensors"),
        (broken_weights, "header"),
        (broken_config, "JSON"),
        (broken_tokenizer, "cannot be loaded"),
        pytest.param(set_config(model_type="unheard-of"), "unheard-of", id="unknown type"),
        pytest.param(set_config(num_hidden_layers=3), "9 weights are missing", id="a layer more"),
        pytest.param(set_config(intermediate_size=32), "6 weights .*mlp", id="other shapes"),
    ],
)
def test_a_damaged_folder_is_refused(
    saved: Path, damage: Callable[[Path], None], match: str
) -> None:
    damage(saved)
    with pytest.raises(ConfigError, match=match):
        load_policy(str(saved))


def test_a_model_without_chat_template_is_refused(saved: Path) -> None:
    (saved / "chat_template.jinja").unlink()
    with pytest.raises(TemplateError, match="hint: use an instruct model"):
        load_policy(str(saved))
