// Package asgapi answers the questions that the AWS provider has for the Auto Scaling service, and carries its writes out.
//
// Here: paging, the limits of names and filters per call, time limits, translation between the SDK's types and package asg, errors of
// package faults. Not here: caching, deciding, retrying beyond what the SDK does. The only package that imports the SDK's autoscaling
// service. Spec page: aws §3.3, §3.4 and §15.2.
package asgapi
