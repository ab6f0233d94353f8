"""Memory and hours of a training, as the document of the encoders lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel

from ease.encoders.estimates import adapter_weights, hours, training_memory
from ease.encoders.known import KnownEncoder, known_encoder, known_names
from ease.training.lora import add_lora
from ease.training.options import LoraOptions
from tests.training.architectures import write_architecture

DOCUMENT = Path(__file__).parents[2] / "docs" / "encoders.md"


def known(name: str) -> KnownEncoder:
    """Return the file of an encoder, which exists."""
    found = known_encoder(name)
    assert found is not None
    return found


def table() -> list[str]:
    """Return the rows of the document's table."""
    rows = []
    for name in known_names():
        file = known(name)
        loop = {**file.training, **(file.methods["ease"].training if "ease" in file.methods else {})}
        how = f"LoRA, rank {loop['lora']['rank']}" if "lora" in loop else "all weights"
        prompt = file.prompts[file.default_prompt].replace("|", "\\|") if file.default_prompt else ""
        cells = [
            f"[{name}](https://huggingface.co/{file.name})",
            f"{file.parameters / 1e6:.0f}",
            file.dimension,
            file.pooling,
            f"`{prompt}`" if prompt else "",
            loop["batch_size"],
            f"{loop['learning_rate']:.0e}".replace("e-0", "e-"),
            how,
            f"{file.memory:.1f}",
            f"{training_memory(file, lora=not file.training.get('lora')):.1f}",
            f"{hours(file):.2f}",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return rows


def test_the_document_lists_every_encoder() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    missing = [row for row in table() if row not in written]
    assert not missing, "\n".join(["docs/encoders.md lacks these rows:", *missing])


def test_the_memory_of_a_known_case() -> None:
    """XLM-R base, by hand: 16 bytes for each weight, and the activations of 128 sentences of 32 tokens."""
    weights = 16 * 278_043_648
    layer = (
        (34 * 768 + 5 * 12 * 32) * 128 * 32
    )  # Korthikanti et al. (2022), equation 2, without factors of 16 bits
    assert training_memory(known("xlm-roberta-base")) == pytest.approx((weights + 12 * layer) / 1e9, rel=1e-9)


def test_the_hours_of_a_known_case() -> None:
    """XLM-R base: 6 operations for each of 86 million weights and 64 million tokens, at 93.6 teraflops."""
    layers = 278_043_648 - 250_002 * 768
    assert hours(known("xlm-roberta-base")) == pytest.approx(6 * layers * 64e6 / 93.6e12 / 3600, rel=1e-9)


@pytest.mark.parametrize("name", ["mbert", "modernbert", "qwen3-embedding", "embeddinggemma", "nomic"])
def test_the_weights_of_adapters_are_those_of_peft(tmp_path: Path, name: str) -> None:
    from ease.encoders.encoder import load_encoder

    encoder = load_encoder(str(write_architecture(name, tmp_path)))
    add_lora(encoder, LoraOptions(rank=3))
    counted = sum(value.numel() for path, value in encoder.named_parameters() if ".lora_" in path)
    assert adapter_weights(encoder[0].model.config.to_dict(), 3) == counted  # type: ignore[union-attr, operator]


def test_activations_of_a_real_step() -> None:
    """The tensors that autograd keeps for a BERT layer, in 4 bytes each, are at most what the formula counts in 2."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 96, "num_attention_heads": 4, "intermediate_size": 384, "num_hidden_layers": 3}
    model = BertModel(BertConfig(vocab_size=50, attn_implementation="eager", **sizes))
    kept: dict[int, int] = {}
    weights = {value.untyped_storage().data_ptr() for value in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model(torch.randint(50, (16, 32))).last_hidden_state
    assert output.requires_grad
    expected = 3 * (34 * 96 + 5 * 4 * 32) * 16 * 32
    assert 0.7 < sum(kept.values()) / 2 / expected < 1.3
