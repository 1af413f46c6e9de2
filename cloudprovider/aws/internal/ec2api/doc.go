// Package ec2api answers the questions that the AWS provider has for EC2: launch templates, images, instance types.
//
// Here: paging, the limits of a call, time limits, translation between the SDK's types and package launch, errors of package faults. Not
// here: caching, deciding. The only package of the product that imports the SDK's ec2 service, which is very large: tests of anything
// else should do without it. Spec page: aws §3.3, §8 and §15.3.
package ec2api
