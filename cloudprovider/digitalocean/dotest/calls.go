package dotest

import (
	"net/url"
	"slices"
	"time"
)

// The operations, by godo's names for them.
const (
	ListNodePools   = "ListNodePools"
	GetNodePool     = "GetNodePool"
	UpdateNodePool  = "UpdateNodePool"
	DeleteNode      = "DeleteNode"
	RecycleNodes    = "RecycleNodePoolNodes"
	GetTemplate     = "GetNodePoolTemplate"
	GetCluster      = "GetCluster"
	ListSizes       = "ListSizes"
	GetOptions      = "GetOptions"
	StatusMessages  = "GetClusterStatusMessages"
	unknownCallName = "Unknown"
)

// Call is one request as the API saw it.
type Call struct {
	Number    int       // from 1, in the order of arrival
	Time      time.Time // of arrival
	Operation string
	Method    string
	Path      string
	Query     url.Values // read-only
	Body      string
	UserAgent string
	Token     string // of the Authorization header
	Pool      string // id or, for templates, name that the path holds
	Node      string // id that the path holds
	Write     bool   // the operation changes something
	Status    int    // of the answer; 0: not answered (yet), or cut
	ErrorID   string // of the answer's body
	RequestID string
	Done      bool // the answer was sent or given up
	// From and To are the count of the pool before and after a write was carried out; both 0: it was not.
	From, To int
	// LiveFrom and LiveTo are how many nodes the pool had that were not ending, and At when that was; zero: it was not carried out.
	LiveFrom, LiveTo int
	At               time.Time
}

// Calls returns all requests in the order of their arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, 0, len(s.calls))
	for _, c := range s.calls {
		calls = append(calls, *c)
	}
	return calls
}

// Writes returns the requests that change something, in the order of their arrival, also those that failed.
func (s *Server) Writes() []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return !c.Write })
}

// Count returns how many requests named the operation, of whatever outcome.
func (s *Server) Count(operation string) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Operation == operation {
			n++
		}
	}
	return n
}

// ForgetCalls empties the log. Numbers go on.
func (s *Server) ForgetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}
