// Package instancetypes answers: what does an EC2 instance type offer, without asking AWS?
//
// Here: the built-in list of types and its parser. It is what the AWS provider starts with, and all it has with
// --aws-use-static-instance-list; the wire-level stand-in serves DescribeInstanceTypes from it. Not here: the AWS client, templates,
// Kubernetes resources. It imports nothing of ours. Spec page: aws §8.
//
// types.txt is written by hack/ec2instancetypes. Its format, one family after the other:
//
//	as-of YYYY-MM
//	FAMILY ARCH [GPU-MAKER/GPU-MODEL]
//	<tab>SIZE VCPUS MEMORY-MIB ENIS x IPV4-PER-ENI [gpus=N] [neuron=N] [efa=N] [disk=GB]
//
// without blanks round the x. A fact left out is zero; a question mark means not known. Lines that start with # are comments.
//
//go:generate go run ../../../hack/ec2instancetypes -as-of 2026-08 -out types.txt $EC2_INSTANCE_TYPES_TSV
package instancetypes
