package saved

import (
	"encoding/json"
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/core/report"
)

// errUnknownReason: a later version knows more reasons. The entry is left out.
var errUnknownReason = errors.New("unknown reason")

// storedReason is a reason with its numbers.
type storedReason struct {
	Code   report.Code     `json:"code"`
	Detail json.RawMessage `json:"detail"`
}

func storeReason(reason report.Reason) (storedReason, error) {
	detail, err := json.Marshal(reason)
	if err != nil {
		return storedReason{}, fmt.Errorf("storing the reason %s: %w", reason.Code(), err)
	}
	return storedReason{Code: reason.Code(), Detail: detail}, nil
}

// load makes the reason again. These are all reasons for which the search leaves a node alone for a while.
func (s storedReason) load() (report.Reason, error) {
	switch s.Code {
	case report.CodeNoPlaceToMovePods:
		return loadAs[report.NoPlaceToMovePods](s)
	case report.CodeBlockedByPod:
		return loadAs[report.BlockedByPod](s)
	case report.CodeBlockedByOnCompletionPod:
		return loadAs[report.BlockedByOnCompletionPod](s)
	case report.CodeUnexpectedError:
		return loadAs[report.UnexpectedError](s)
	case report.CodeNoNodeInfo:
		return loadAs[report.NoNodeInfo](s)
	case report.CodeResourceClaimsNotSimulated:
		return loadAs[report.ResourceClaimsNotSimulated](s)
	default:
		return nil, fmt.Errorf("%w %q", errUnknownReason, s.Code)
	}
}

func loadAs[R report.Reason](s storedReason) (report.Reason, error) {
	var reason R
	if err := json.Unmarshal(s.Detail, &reason); err != nil {
		return nil, fmt.Errorf("reading the numbers of the reason %s: %w", s.Code, err)
	}
	return reason, nil
}
