package report

// The codes. They are stable: metric labels, saved reports and scripts use them.
const (
	CodeGroupAtMaxSize               Code = "GroupAtMaxSize"
	CodeGroupBackedOff               Code = "GroupBackedOff"
	CodeGroupUnhealthy               Code = "GroupUnhealthy"
	CodeGroupSetAside                Code = "GroupSetAside"
	CodeNoTemplate                   Code = "NoTemplate"
	CodeLimitReached                 Code = "LimitReached"
	CodeAtomicOverLimit              Code = "AtomicOverLimit"
	CodeNotAllFit                    Code = "NotAllFit"
	CodeDroppedByExpander            Code = "DroppedByExpander"
	CodeExecutionFailed              Code = "ExecutionFailed"
	CodeNotGuaranteed                Code = "NotGuaranteed"
	CodeEstimateLimit                Code = "EstimateLimit"
	CodeUpcoming                     Code = "Upcoming"
	CodeWaitingForPreemption         Code = "WaitingForPreemption"
	CodeTooYoung                     Code = "TooYoung"
	CodeExpendable                   Code = "Expendable"
	CodeDaemonSetPod                 Code = "DaemonSetPod"
	CodeOtherScheduler               Code = "OtherScheduler"
	CodeGated                        Code = "Gated"
	CodePurchaseOnTheWay             Code = "PurchaseOnTheWay"
	CodeScaleDownDisabledAnnotation  Code = "ScaleDownDisabledAnnotation"
	CodeScaleDownUnreadyDisabled     Code = "ScaleDownUnreadyDisabled"
	CodeNotAutoscaled                Code = "NotAutoscaled"
	CodeNotUnneededLongEnough        Code = "NotUnneededLongEnough"
	CodeNotUnreadyLongEnough         Code = "NotUnreadyLongEnough"
	CodeNodeGroupMinSizeReached      Code = "NodeGroupMinSizeReached"
	CodeAtMinSizeBefore              Code = "AtMinSizeBefore"
	CodeAtomicScaleDownFailed        Code = "AtomicScaleDownFailed"
	CodeMinimalResourceLimitExceeded Code = "MinimalResourceLimitExceeded"
	CodeCurrentlyBeingDeleted        Code = "CurrentlyBeingDeleted"
	CodeNotUnderutilized             Code = "NotUnderutilized"
	CodeRecentlyUnremovable          Code = "RecentlyUnremovable"
	CodeNoPlaceToMovePods            Code = "NoPlaceToMovePods"
	CodeBlockedByPod                 Code = "BlockedByPod"
	CodeBlockedByOnCompletionPod     Code = "BlockedByOnCompletionPod"
	CodeUnexpectedError              Code = "UnexpectedError"
	CodeNoNodeInfo                   Code = "NoNodeInfo"
	CodeNotReached                   Code = "NotReached"
	CodeCoolDown                     Code = "CoolDown"
	CodeDeletionInProgress           Code = "DeletionInProgress"
	CodeResourceClaimsNotSimulated   Code = "ResourceClaimsNotSimulated"
)

// Code is CodeGroupAtMaxSize.
func (GroupAtMaxSize) Code() Code { return CodeGroupAtMaxSize }

// Code is CodeGroupBackedOff.
func (GroupBackedOff) Code() Code { return CodeGroupBackedOff }

// Code is CodeGroupUnhealthy.
func (GroupUnhealthy) Code() Code { return CodeGroupUnhealthy }

// Code is CodeGroupSetAside.
func (GroupSetAside) Code() Code { return CodeGroupSetAside }

// Code is CodeNoTemplate.
func (NoTemplate) Code() Code { return CodeNoTemplate }

// Code is CodeLimitReached.
func (LimitReached) Code() Code { return CodeLimitReached }

// Code is CodeAtomicOverLimit.
func (AtomicOverLimit) Code() Code { return CodeAtomicOverLimit }

// Code is CodeNotAllFit.
func (NotAllFit) Code() Code { return CodeNotAllFit }

// Code is CodeDroppedByExpander.
func (DroppedByExpander) Code() Code { return CodeDroppedByExpander }

// Code is CodeExecutionFailed.
func (ExecutionFailed) Code() Code { return CodeExecutionFailed }

// Code is CodeNotGuaranteed.
func (NotGuaranteed) Code() Code { return CodeNotGuaranteed }

// Code is CodeEstimateLimit.
func (EstimateLimit) Code() Code { return CodeEstimateLimit }

// Code is CodeUpcoming.
func (Upcoming) Code() Code { return CodeUpcoming }

// Code is CodeWaitingForPreemption.
func (WaitingForPreemption) Code() Code { return CodeWaitingForPreemption }

// Code is CodeTooYoung.
func (TooYoung) Code() Code { return CodeTooYoung }

// Code is CodeExpendable.
func (Expendable) Code() Code { return CodeExpendable }

// Code is CodeDaemonSetPod.
func (DaemonSetPod) Code() Code { return CodeDaemonSetPod }

// Code is CodeOtherScheduler.
func (OtherScheduler) Code() Code { return CodeOtherScheduler }

// Code is CodeGated.
func (Gated) Code() Code { return CodeGated }

// Code is CodePurchaseOnTheWay.
func (PurchaseOnTheWay) Code() Code { return CodePurchaseOnTheWay }

// Code is CodeScaleDownDisabledAnnotation.
func (ScaleDownDisabledAnnotation) Code() Code { return CodeScaleDownDisabledAnnotation }

// Code is CodeScaleDownUnreadyDisabled.
func (ScaleDownUnreadyDisabled) Code() Code { return CodeScaleDownUnreadyDisabled }

// Code is CodeNotAutoscaled.
func (NotAutoscaled) Code() Code { return CodeNotAutoscaled }

// Code is CodeNotUnneededLongEnough.
func (NotUnneededLongEnough) Code() Code { return CodeNotUnneededLongEnough }

// Code is CodeNotUnreadyLongEnough.
func (NotUnreadyLongEnough) Code() Code { return CodeNotUnreadyLongEnough }

// Code is CodeNodeGroupMinSizeReached.
func (NodeGroupMinSizeReached) Code() Code { return CodeNodeGroupMinSizeReached }

// Code is CodeAtMinSizeBefore.
func (AtMinSizeBefore) Code() Code { return CodeAtMinSizeBefore }

// Code is CodeAtomicScaleDownFailed.
func (AtomicScaleDownFailed) Code() Code { return CodeAtomicScaleDownFailed }

// Code is CodeMinimalResourceLimitExceeded.
func (MinimalResourceLimitExceeded) Code() Code { return CodeMinimalResourceLimitExceeded }

// Code is CodeCurrentlyBeingDeleted.
func (CurrentlyBeingDeleted) Code() Code { return CodeCurrentlyBeingDeleted }

// Code is CodeNotUnderutilized.
func (NotUnderutilized) Code() Code { return CodeNotUnderutilized }

// Code is CodeRecentlyUnremovable.
func (RecentlyUnremovable) Code() Code { return CodeRecentlyUnremovable }

// Code is CodeNoPlaceToMovePods.
func (NoPlaceToMovePods) Code() Code { return CodeNoPlaceToMovePods }

// Code is CodeBlockedByPod.
func (BlockedByPod) Code() Code { return CodeBlockedByPod }

// Code is CodeBlockedByOnCompletionPod.
func (BlockedByOnCompletionPod) Code() Code { return CodeBlockedByOnCompletionPod }

// Code is CodeUnexpectedError.
func (UnexpectedError) Code() Code { return CodeUnexpectedError }

// Code is CodeNoNodeInfo.
func (NoNodeInfo) Code() Code { return CodeNoNodeInfo }

// Code is CodeNotReached.
func (NotReached) Code() Code { return CodeNotReached }

// Code is CodeCoolDown.
func (CoolDown) Code() Code { return CodeCoolDown }

// Code is CodeDeletionInProgress.
func (DeletionInProgress) Code() Code { return CodeDeletionInProgress }

// Code is CodeResourceClaimsNotSimulated.
func (ResourceClaimsNotSimulated) Code() Code { return CodeResourceClaimsNotSimulated }

func (Rejected) reason()                     {}
func (GroupAtMaxSize) reason()               {}
func (GroupBackedOff) reason()               {}
func (GroupUnhealthy) reason()               {}
func (GroupSetAside) reason()                {}
func (NoTemplate) reason()                   {}
func (LimitReached) reason()                 {}
func (AtomicOverLimit) reason()              {}
func (NotAllFit) reason()                    {}
func (DroppedByExpander) reason()            {}
func (ExecutionFailed) reason()              {}
func (NotGuaranteed) reason()                {}
func (EstimateLimit) reason()                {}
func (Upcoming) reason()                     {}
func (WaitingForPreemption) reason()         {}
func (TooYoung) reason()                     {}
func (Expendable) reason()                   {}
func (DaemonSetPod) reason()                 {}
func (OtherScheduler) reason()               {}
func (Gated) reason()                        {}
func (PurchaseOnTheWay) reason()             {}
func (ScaleDownDisabledAnnotation) reason()  {}
func (ScaleDownUnreadyDisabled) reason()     {}
func (NotAutoscaled) reason()                {}
func (NotUnneededLongEnough) reason()        {}
func (NotUnreadyLongEnough) reason()         {}
func (NodeGroupMinSizeReached) reason()      {}
func (AtMinSizeBefore) reason()              {}
func (AtomicScaleDownFailed) reason()        {}
func (MinimalResourceLimitExceeded) reason() {}
func (CurrentlyBeingDeleted) reason()        {}
func (NotUnderutilized) reason()             {}
func (RecentlyUnremovable) reason()          {}
func (NoPlaceToMovePods) reason()            {}
func (BlockedByPod) reason()                 {}
func (BlockedByOnCompletionPod) reason()     {}
func (UnexpectedError) reason()              {}
func (NoNodeInfo) reason()                   {}
func (NotReached) reason()                   {}
func (CoolDown) reason()                     {}
func (DeletionInProgress) reason()           {}
func (ResourceClaimsNotSimulated) reason()   {}
