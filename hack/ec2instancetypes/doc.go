// Command ec2instancetypes turns a table of EC2 instance types into the compact list that cloudprovider/aws/instancetypes embeds.
//
// Input: a tab-separated file whose first line that isn't a comment names the columns: instance_type, vcpu, memory_mib,
// arch, gpus, gpu_model, neuron_devices, efa_interfaces, max_enis, ipv4_per_eni, local_storage_gb. A dash means not known;
// in gpu_model it also stands for "has none". Such a table is made from the answers of DescribeInstanceTypes.
//
//	ec2instancetypes -as-of 2026-08 -out types.txt TABLE.tsv
//
// Developers run it through `go generate` in that package; the product never does.
package main
