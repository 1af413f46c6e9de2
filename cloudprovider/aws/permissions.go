package aws

import (
	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/permissions"
)

// denials tells of actions that AWS denies, by what the calls that are made anyway come back with. It hands what it is told on. Safe for concurrent use.
type denials struct {
	to      cloudprovider.CallObserver
	notices *notices
	memory  permissions.Memory
}

// ObserveCall notes how a call ended.
func (d *denials) ObserveCall(call cloudprovider.Call) {
	switch d.memory.Note(call.Operation, call.Code) {
	case permissions.Missing:
		d.notices.permissionMissing(call.Operation, call.Code)
	case permissions.Granted:
		d.notices.permissionGranted(call.Operation)
	case permissions.None:
	}
	d.to.ObserveCall(call)
}

// permissionGranted notes that AWS allows an operation again.
func (n *notices) permissionGranted(operation string) {
	n.change("denied/"+operation, cloudprovider.Notice{})
	n.tell(cloudprovider.Notice{Message: operation + " is allowed again", Normal: true})
}
