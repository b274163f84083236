"""The rehearsal of a deploy on one machine: the real CDK, a stand-in for AWS, the bundle under Lambda's own client."""
