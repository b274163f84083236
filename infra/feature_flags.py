"""The CDK's feature flags, as `cdk init` of this version sets them; cdk.json may set one otherwise."""

import json
from pathlib import Path

FEATURE_FLAGS: dict[str, object] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
