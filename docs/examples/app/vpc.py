"""app.py's `extend`: the function in a VPC of its own that has no way out, with endpoints for what it calls.

For a VPC that is there already, take it by `ec2.Vpc.from_lookup`; the endpoints may then be there, too. Each interface endpoint
costs by the hour. A tool that reaches the internet needs subnets with a way out instead.
"""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from infra.stack import AgentStack

# X-Ray takes what Lambda sends by itself, logs and metrics too; the rest is what the function calls.
INTERFACES = ("bedrock-runtime", "secretsmanager", "sts")


def extend(stack: AgentStack) -> None:
    """Puts the function into isolated subnets of a new VPC."""
    private = ec2.SubnetConfiguration(name="agent", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
    vpc = ec2.Vpc(
        stack,
        "Vpc",
        # By number, so that no account has to be asked for their names.
        availability_zones=[cdk.Fn.select(number, cdk.Fn.get_azs()) for number in range(2)],
        nat_gateways=0,
        subnet_configuration=[private],
        # Nothing is in it, and closing it would take a function of the CDK's own.
        restrict_default_security_group=False,
    )
    vpc.add_flow_log("FlowLog")
    outside = ec2.SecurityGroup(stack, "FunctionGroup", vpc=vpc, allow_all_outbound=False)
    inside = ec2.SecurityGroup(stack, "EndpointGroup", vpc=vpc, allow_all_outbound=False)
    table = vpc.add_gateway_endpoint("DynamoDB", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
    for name in INTERFACES:
        service = ec2.InterfaceVpcEndpointAwsService(name)
        vpc.add_interface_endpoint(f"{name}-endpoint", service=service, security_groups=[inside], open=False)
    # By the group's own rules, so that neither side is open to anything else.
    inside.add_ingress_rule(outside, ec2.Port.tcp(443), "the function calls AWS")
    outside.add_egress_rule(inside, ec2.Port.tcp(443), "the endpoints in this VPC")
    outside.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "DynamoDB, through its gateway endpoint")

    function = stack.function.node.default_child
    assert isinstance(function, lambda_.CfnFunction)
    subnets = vpc.select_subnets(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED).subnet_ids
    function.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
        subnet_ids=subnets, security_group_ids=[outside.security_group_id]
    )
    stack.function.node.add_dependency(table)
    # What Lambda does in the function's name: "Giving Lambda functions access to resources in an Amazon VPC".
    interfaces = ["Create", "Delete", "Describe"]
    statement = iam.PolicyStatement(
        actions=[
            *(f"ec2:{verb}NetworkInterface{'s' if verb == 'Describe' else ''}" for verb in interfaces),
            "ec2:DescribeSubnets",
            "ec2:AssignPrivateIpAddresses",
            "ec2:UnassignPrivateIpAddresses",
        ],
        resources=["*"],
    )
    policy = iam.Policy(stack, "Network", statements=[statement], roles=[stack.role])
    # The function is made only once its role may do this.
    stack.function.node.add_dependency(policy)
    reason = "EC2's actions on network interfaces take no resource at this point"
    cdk.Validations.of(policy).acknowledge(
        cdk.Acknowledgment(id="AwsSolutions::AwsSolutions-IAM5[Resource::*]", reason=reason)
    )
