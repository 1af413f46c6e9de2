package asg

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Activity is one scaling activity of a group. Times are those of AWS.
type Activity struct {
	ID          string
	Description string
	Cause       string
	Details     string // JSON text
	Status      string
	Message     string // why it failed, free text
	Start, End  time.Time
}

// The statuses that end an activity.
const (
	StatusSuccessful = "Successful"
	StatusFailed     = "Failed"
	StatusCancelled  = "Cancelled"
)

// launchWords begin the description of an activity that starts a machine.
const launchWords = "launching a new ec2 instance"

// Launches tells whether the activity starts a machine, in contrast to ending, attaching or replacing one.
func (a Activity) Launches() bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Description)), launchWords)
}

// Finished tells whether nothing more will come of the activity.
func (a Activity) Finished() bool {
	return a.Status == StatusSuccessful || a.Status == StatusFailed || a.Status == StatusCancelled
}

// Failed tells whether the activity ended without what it was for.
func (a Activity) Failed() bool { return a.Status == StatusFailed || a.Status == StatusCancelled }

// InstanceID is the machine that the description names, or empty.
func (a Activity) InstanceID() string {
	_, rest, found := strings.Cut(a.Description, ":")
	if !found {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	word = strings.TrimRight(word, ".,")
	if !strings.HasPrefix(word, "i-") {
		return ""
	}
	return word
}

// Zone is the Availability Zone that the details name, else the one that the text of a failure does, or empty.
func (a Activity) Zone() string {
	var details struct {
		Zone string `json:"Availability Zone"`
	}
	if json.Unmarshal([]byte(a.Details), &details) != nil || details.Zone == "" { // AWS doesn't promise the form of the details
		return zoneIn(a.Message)
	}
	return details.Zone
}

// lag is for how long after its end a launch may have brought a machine that AWS doesn't list yet.
const lag = 5 * time.Minute

// Launching counts the launches whose machine isn't in the group's list yet: those under way, and those that were over a short while before now and
// whose machine has not been told to end since. now is AWS's time of the activities.
func Launching(activities []Activity, group Group, now time.Time) int {
	count := 0
	for _, a := range activities {
		id := a.InstanceID()
		_, listed := group.Instance(id)
		switch {
		case !a.Launches(), listed, a.Failed():
		case !a.Finished():
			count++
		case id != "" && now.Sub(a.ended()) < lag && !ends(activities, id):
			count++
		}
	}
	return count
}

// ends tells whether one of the activities ends or detaches the machine.
func ends(activities []Activity, id string) bool {
	return slices.ContainsFunc(activities, func(a Activity) bool { return !a.Launches() && a.InstanceID() == id })
}

// ended is when the activity was over, as far as known.
func (a Activity) ended() time.Time {
	if a.End.IsZero() {
		return a.Start
	}
	return a.End
}

// maxMessage is how many bytes of AWS's own sentence are handed on; events have little room.
const maxMessage = 400

// Failure says why a failed launch failed: nil for an activity that didn't fail or that AWS repeats by itself.
func (a Activity) Failure() *cloudprovider.InstanceError {
	if !a.Failed() {
		return nil
	}
	code, class := classify(a.Message)
	if code == codeThrottled {
		return nil
	}
	message := strings.TrimSpace(a.Message)
	if message == "" {
		message = "AWS gives no reason; the activity is " + a.Status
	}
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	about := code
	if where := strings.TrimSpace(a.Zone() + " " + a.InstanceType()); where != "" {
		about += ": " + where
	}
	return &cloudprovider.InstanceError{Class: class, Code: code, Message: fmt.Sprintf("%s (%s): %s", about, causeOf(code), message)}
}

// Codes that stand for more than one word of AWS, or for none.
const (
	CodeInsufficientCapacity = "InsufficientInstanceCapacity"
	codeVCPULimit            = "VcpuLimitExceeded"
	codeInstanceLimit        = "InstanceLimitExceeded"
	codeNoAddresses          = "InsufficientFreeAddressesInSubnet"
	codeSpotPrice            = "SpotMaxPriceTooLow"
	codeSpotCount            = "MaxSpotInstanceCountExceeded"
	codeUnsupported          = "Unsupported"
	codePlacementGroup       = "PlacementGroupLimit"
	codeInvalid              = "InvalidConfiguration"
	codeUnauthorized         = "UnauthorizedOperation"
	codeNoSpotRole           = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	codeAbandoned            = "LaunchAbandoned"
	codeThrottled            = "RequestLimitExceeded"
	codeOther                = "LaunchFailed"
)

// reasons map phrases of AWS to a code, the first match counts. All of a row's phrases must occur, in lower case.
func reasons() []struct {
	phrases []string
	code    string // empty: the word of AWS as it stands in the message
	class   cloudprovider.ErrorClass
} {
	const short, other = cloudprovider.ErrorClassOutOfResources, cloudprovider.ErrorClassOther
	return []struct {
		phrases []string
		code    string
		class   cloudprovider.ErrorClass
	}{
		{[]string{"servicelinkedrolecreationnotpermitted"}, codeNoSpotRole, other},
		{[]string{"requestlimitexceeded"}, codeThrottled, other},
		{[]string{"maxspotinstancecountexceeded"}, codeSpotCount, short},
		{[]string{"max spot instance count exceeded"}, codeSpotCount, short},
		{[]string{"vcpulimitexceeded"}, codeVCPULimit, short},
		{[]string{"more vcpu capacity than your current vcpu limit"}, codeVCPULimit, short},
		{[]string{"instancelimitexceeded"}, codeInstanceLimit, short},
		{[]string{"placement group", "limit"}, codePlacementGroup, short},
		{[]string{"instance limit"}, codeInstanceLimit, short},
		{[]string{"insufficientfreeaddressesinsubnet"}, codeNoAddresses, short},
		{[]string{"not enough free addresses"}, codeNoAddresses, short},
		{[]string{"spotmaxpricetoolow"}, codeSpotPrice, short},
		{[]string{"spot request price", "lower than the minimum"}, codeSpotPrice, short},
		{[]string{"reservationcapacityexceeded"}, "ReservationCapacityExceeded", short},
		{[]string{"maxfleetcountexceeded"}, "MaxFleetCountExceeded", short},
		{[]string{"insufficientcapacityonoutpost"}, "InsufficientCapacityOnOutpost", short},
		{[]string{"volumelimitexceeded"}, "VolumeLimitExceeded", short},
		{[]string{"maxiopslimitexceeded"}, "MaxIOPSLimitExceeded", short},
		{[]string{"insufficientinstancecapacity"}, CodeInsufficientCapacity, short},
		{[]string{"do not have sufficient", "capacity"}, CodeInsufficientCapacity, short},
		{[]string{"no spot capacity available"}, CodeInsufficientCapacity, short},
		{[]string{"unfulfillablecapacity"}, CodeInsufficientCapacity, short},
		{[]string{"could not launch spot instances"}, CodeInsufficientCapacity, short},
		{[]string{"not supported in your requested availability zone"}, codeUnsupported, short},
		{[]string{"unsupported"}, codeUnsupported, short},
		{[]string{"unauthorizedoperation"}, codeUnauthorized, other},
		{[]string{"not authorized"}, codeUnauthorized, other},
		{[]string{"abandon"}, codeAbandoned, other},
		{[]string{"health check"}, codeAbandoned, other},
		{[]string{"client.internalerror"}, codeInvalid, other},
		{[]string{"client error on launch"}, codeInvalid, other},
		{[]string{"instance profile"}, codeInvalid, other},
		{[]string{"does not exist"}, "", other},
		{[]string{"invalid"}, "", other},
	}
}

func classify(message string) (string, cloudprovider.ErrorClass) {
	lower := strings.ToLower(message)
	for _, row := range reasons() {
		if !containsAll(lower, row.phrases) {
			continue
		}
		if row.code == "" {
			return invalidCode(message), row.class
		}
		return row.code, row.class
	}
	return codeOther, cloudprovider.ErrorClassOther
}

// invalidCode is the error code in the message, such as InvalidAMIID.NotFound, if there is one.
func invalidCode(message string) string {
	if code := regexp.MustCompile(`\bInvalid[A-Z][A-Za-z]*(\.[A-Z][A-Za-z]*)*`).FindString(message); code != "" {
		return code
	}
	return codeInvalid
}

func containsAll(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if !strings.Contains(text, phrase) {
			return false
		}
	}
	return true
}
