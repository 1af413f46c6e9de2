// Package awstest is a stand-in for AWS Auto Scaling, EC2, STS, EKS and Pricing that the real AWS SDK talks to over HTTP, and for the
// places where a machine or pod gets its credentials: instance metadata and the container credentials endpoint.
//
// It answers the question: how would the service behave if …? Here: the protocols of these services, a model of Auto
// Scaling groups and their machines, faults to inject, a log of all requests. Not here: anything that the product needs; tests and
// the playground import this package, product code may not. It imports instancetypes and nothing else of ours.
// Spec page: aws, §15 for the bytes, §3, §5, §6 and §8 for the behaviour.
//
// A test makes a Server with New, gives it launch templates and groups, starts it, and points SDK clients at URL:
//
//	server, err := awstest.New(awstest.Config{Clock: fakeClock})
//	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
//	server.AddGroup(awstest.Group{Name: "workers", Max: 5, Zones: []string{"us-east-1a"},
//		LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}})
//	err = server.Start(ctx)
//	defer server.Close()
//
// # Time
//
// All that happens, happens at a moment of the injected clock. Every request, every snapshot and every change first brings the world
// up to the clock's time, event by event in the order in which they fall due, so the outcome doesn't depend on who looks when. With a
// real clock a goroutine also does that when the next event is due, so that Changed fires by itself; with any other clock, call Advance.
//
// # Capacity
//
// Missing capacity becomes launches, surplus becomes terminations of the service's own choice, without asking whether anybody
// uses the machine: lowering desired below the number of instances ends instances, and so does a launch that arrives after desired was
// lowered. Ending an instance without decrement, or its death, starts a replacement. SetStock, SetOffered, SetSpotPrice and ScriptLaunches
// say which machines can be had; LaunchFailures are the reasons that an activity can tell.
//
// # Other hands
//
// SetDesired, SetBounds, SetTags, RunScheduledAction, RunAlarm, EnterStandby, Detach, StartInstanceRefresh, Rebalance, Interrupt and
// KillInstance are what others do to a group. Called from a Hook, they come between the client's last read and the effect of its write:
//
//	server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: awstest.Hook{Before: func() { err = server.LaunchNow("workers") }}})
//
// # Who asks
//
// Keys are accepted unless Config.AccessKeyID, SetCredentials or the expiry of temporary ones say otherwise; signatures aren't verified.
// Temporary ones come from PutRole (AssumeRole, and AssumeRoleWithWebIdentity for a token), from SetContainerCredentials and from SetMetadata. Deny takes
// single permissions away.
package awstest
