"""app.py's `extend`: the API under a name of one's own, and no longer under the one that AWS gave it.

The certificate must be in the stack's region; point the name at `DomainTarget`, by an alias or a CNAME. A WAF can't stand before
an HTTP API: put CloudFront with a web ACL before this name. Callers sign for, or send their tokens to, the name that they use.
"""

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_certificatemanager as certificates

from infra.stack import AgentStack

NAME = "agent.example.com"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"


def extend(stack: AgentStack) -> None:
    """Maps the name to the API and closes the API's own address."""
    # With `api` rest, `aws_apigateway.DomainName` does the same.
    assert isinstance(stack.api, apigateway.HttpApi)
    certificate = certificates.Certificate.from_certificate_arn(stack, "Certificate", CERTIFICATE)
    domain = apigateway.DomainName(stack, "Domain", domain_name=NAME, certificate=certificate)
    stage = next(child for child in stack.node.find_all() if isinstance(child, apigateway.HttpStage))
    apigateway.ApiMapping(stack, "Mapping", api=stack.api, domain_name=domain, stage=stage)
    api = stack.api.node.default_child
    assert isinstance(api, apigateway.CfnApi)
    api.disable_execute_api_endpoint = True
    cdk.CfnOutput(stack, "DomainTarget", value=domain.regional_domain_name)
