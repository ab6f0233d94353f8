"""Wiring of `plan`."""

from collections.abc import Mapping, Sequence

from kedro.pipeline import Pipeline, node

from ease.pipelines.plan.nodes import plan_job

SHARED = {
    "options": "plan",
    **{name: name for name in ("acquire", "ingest", "texts", "encoders", "work")},
    **{name: f"teach.{name}" for name in ("language", "companions")},
}


def create_pipeline(methods: Mapping[str, Sequence[str]]) -> Pipeline:
    """Create `plan`.

    Args:
        methods: The methods that each setting's job trains.
    """
    given = {name: f"params:{parameter}" for name, parameter in SHARED.items()}
    for setting, trained in methods.items():
        given |= {f"{setting}_{name}": f"params:{setting}.{name}" for name in ("setting", "pairs", *trained)}
        given[f"{setting}_kept_pairs"] = f"{setting}.kept_training_pairs"
        given |= {f"{setting}_{method}_encoder": f"{setting}.{method}.encoder" for method in trained}
    planned = node(plan_job, given, ["plan_page", "plan_costs"], name="plan_job", tags="plan")
    return Pipeline([planned])
