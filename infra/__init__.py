"""The deployment as CDK constructs: what a stack is made of, how its function is bundled, what each part may do."""
