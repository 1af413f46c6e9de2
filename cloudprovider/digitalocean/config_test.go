package digitalocean_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// file writes a file into the test's folder and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryFaultOfTheCloudConfigIsOneClearError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	empty, blank, two := file(t, "empty", ""), file(t, "blank", "\n\n"), file(t, "two", "dop_v1_a\ndop_v1_b\n")
	for name, test := range map[string]struct{ config, want string }{
		"no file":                          {config: "", want: "no access token was given"},
		"an empty file":                    {config: " ", want: "want one JSON object"},
		"no JSON":                          {config: "cluster_id: c", want: "want one JSON object"},
		"an array":                         {config: `[]`, want: "want one JSON object"},
		"text after the object":            {config: `{"cluster_id": "c", "token": "t"} x`, want: "want one JSON object"},
		"a comment":                        {config: "{\"cluster_id\": \"c\" // mine\n}", want: "want one JSON object"},
		"a number for a text":              {config: `{"cluster_id": 5, "token": "t"}`, want: "cannot unmarshal number"},
		"null":                             {config: `null`, want: "no access token was given"},
		"nothing in it":                    {config: `{}`, want: "no access token was given"},
		"a token of blanks":                {config: `{"cluster_id": "c", "token": "  "}`, want: "no access token was given"},
		"both kinds of token":              {config: `{"cluster_id": "c", "token": "t", "token_file": "/f"}`, want: "exclude each other"},
		"both kinds, and no cluster":       {config: `{"token": "t", "token_file": "/f"}`, want: "exclude each other"},
		"no cluster":                       {config: `{"token": "t"}`, want: "cluster ID is missing"},
		"no cluster, and no token file":    {config: `{"token_file": "` + missing + `"}`, want: "cluster ID is missing"},
		"no token file":                    {config: `{"cluster_id": "c", "token_file": "` + missing + `"}`, want: "reading the token file: stat " + missing + ": no such file"},
		"a folder for a token file":        {config: `{"cluster_id": "c", "token_file": "` + filepath.Dir(empty) + `"}`, want: "reading the token file"},
		"an empty token file":              {config: `{"cluster_id": "c", "token_file": "` + empty + `"}`, want: `token file "` + empty + `" is empty`},
		"a token file of white space":      {config: `{"cluster_id": "c", "token_file": "` + blank + `"}`, want: `token file "` + blank + `" is empty`},
		"a token file of two lines":        {config: `{"cluster_id": "c", "token_file": "` + two + `"}`, want: "more than one word"},
		"an address that is none":          {config: `{"cluster_id": "c", "token": "t", "url": "http://[::1"}`, want: "client could not be initialised"},
		"an address without a scheme":      {config: `{"cluster_id": "c", "token": "t", "url": "api.digitalocean.com"}`, want: "https://HOST"},
		"an address without a host":        {config: `{"cluster_id": "c", "token": "t", "url": "https:///v2"}`, want: "https://HOST"},
		"an address with another scheme":   {config: `{"cluster_id": "c", "token": "t", "url": "ftp://h"}`, want: "https://HOST"},
		"an address with a path":           {config: `{"cluster_id": "c", "token": "t", "url": "https://h/proxy/do/"}`, want: "no more path than /v2"},
		"a cluster that is a path":         {config: `{"cluster_id": "../c", "token": "t"}`, want: "want the UUID"},
		"a budget of nothing":              {config: `{"cluster_id": "c", "token": "t", "api_budget_percent": 0}`, want: "want 1 to 100"},
		"a bad token file and bad address": {config: `{"cluster_id": "c", "token_file": "` + empty + `", "url": "h"}`, want: "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var content []byte
			if test.config != "" {
				content = []byte(test.config)
			}
			_, err := digitalocean.New(testContext(t), digitalocean.Options{CloudConfig: content, Clock: clocktesting.NewFakeClock(eight)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error = %v; want one line with %q", err, test.want)
			}
		})
	}
}

func TestEveryFormOfTheAddressReachesAllCalls(t *testing.T) {
	for name, suffix := range map[string]string{"host": "", "slash": "/", "version": "/v2", "version and slash": "/v2/"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, on("web", 0, 5, 1))
			config := strings.Replace(r.server.CloudConfig(), r.server.URL(), r.server.URL()+suffix, 1)
			r.server.ForgetCalls()
			provider := r.connect(digitalocean.Options{CloudConfig: []byte(config), Version: "1.2.3"})
			if len(r.server.Calls()) != 0 {
				t.Errorf("%d calls at the start, want none", len(r.server.Calls()))
			}
			if err := provider.Refresh(r.ctx()); err != nil {
				t.Fatal(err)
			}
			if _, err := provider.NodeGroups()[0].Templates(r.ctx()); err != nil {
				t.Fatal(err)
			}
			for _, operation := range []string{dotest.ListNodePools, dotest.GetCluster, dotest.ListSizes, dotest.GetTemplate} {
				if got := r.server.Count(operation); got != 1 {
					t.Errorf("%d calls of %s, want 1", got, operation)
				}
			}
			for _, call := range r.server.Calls() {
				if call.Status != 200 || !strings.HasPrefix(call.UserAgent, "cluster-autoscaler-digitalocean/1.2.3 godo/") {
					t.Errorf("%s %s answered with %d, user agent %q", call.Method, call.Path, call.Status, call.UserAgent)
				}
			}
		})
	}
}

func TestUnknownKeysAndForeignFlagsAreOnlyWarnedAbout(t *testing.T) {
	r := newRig(t, on("web", 0, 5, 1))
	provider := r.connect(digitalocean.Options{
		CloudConfig: r.with(`"version": "dev", "Token_File": ""`), Nodes: []string{"1:10"}, AutoDiscovery: []string{"asg:tag=k8s"},
	})
	if err := provider.Refresh(r.ctx()); err != nil || len(provider.NodeGroups()) != 1 {
		t.Errorf("%d groups, %v; want 1 and no error", len(provider.NodeGroups()), err)
	}
}

func TestLaterKeysWinAndLetterCaseDoesNotMatter(t *testing.T) {
	r := newRig(t, on("web", 0, 5, 1))
	provider := r.connect(digitalocean.Options{CloudConfig: r.with(`"TOKEN": "` + dotest.DefaultToken + ` ", "cluster_id": "` + r.server.ClusterID() + `"`)})
	if err := provider.Refresh(r.ctx()); err != nil {
		t.Errorf("Refresh: %v", err)
	}
}

func TestTheEnvironmentIsAskedOnlyIfTheFileSaysSo(t *testing.T) {
	r := newRig(t, on("web", 0, 5, 1))
	getenv := func(name string) string {
		return map[string]string{"DIGITALOCEAN_ACCESS_TOKEN": dotest.DefaultToken}[name]
	}
	without := strings.Replace(r.server.CloudConfig(), `"token": "`+dotest.DefaultToken+`", `, "", 1)
	if _, err := digitalocean.New(testContext(t), digitalocean.Options{CloudConfig: []byte(without), Clock: r.clock, Getenv: getenv}); err == nil {
		t.Error("no error although the file names no token")
	}
	provider := r.connect(digitalocean.Options{CloudConfig: []byte(strings.Replace(without, "{", `{"token_from_environment": true, `, 1)), Getenv: getenv})
	if err := provider.Refresh(r.ctx()); err != nil {
		t.Errorf("Refresh: %v", err)
	}
}

// tokenRig is a rig whose token lies in a file.
func tokenRig(t *testing.T) (r *rig, path string) {
	t.Helper()
	r = newRig(t, on("web", 0, 5, 1))
	path = file(t, "token", "\n "+dotest.DefaultToken+"\n")
	config := strings.Replace(r.server.CloudConfig(), `"token": "`+dotest.DefaultToken+`"`, `"token_file": "`+path+`"`, 1)
	r.provider = r.connect(digitalocean.Options{CloudConfig: []byte(config)})
	return r, path
}

// replace writes the token file with a time of change that differs from the last.
func replace(t *testing.T, path, content string, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

func TestAReplacedTokenFileIsReadBeforeTheNextRequest(t *testing.T) {
	r, path := tokenRig(t)
	r.refresh()
	r.server.AcceptToken("second")
	replace(t, path, "second\n", eight.Add(time.Minute))
	r.after(10 * time.Second)
	calls := r.server.Calls()
	if last := calls[len(calls)-1]; last.Token != "second" || last.Status != 200 {
		t.Errorf("the last request has the token %q and the answer %d", last.Token, last.Status)
	}
}

func TestARefusedTokenIsReadAnewOnceMoreAndTheCallRepeated(t *testing.T) {
	r, path := tokenRig(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	r.refresh()
	r.server.RevokeToken(dotest.DefaultToken)
	r.server.AcceptToken("second")
	replace(t, path, "second", info.ModTime()) // as if the time of change could not be trusted
	r.after(10 * time.Second)
	if got := r.state("web").Target; got != 1 {
		t.Errorf("target %d, want 1", got)
	}
	if errs := r.notices(); len(errs) != 0 {
		t.Errorf("notices %q, want none", errs)
	}
}

func TestATokenFileThatBecomesEmptyLeavesTheLastTokenInForceAndIsToldOnce(t *testing.T) {
	r, path := tokenRig(t)
	r.refresh()
	replace(t, path, "", eight.Add(time.Minute))
	r.after(10 * time.Second)
	r.after(10 * time.Second)
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "is empty") {
		t.Errorf("notices %q, want one about the empty file", got)
	}
	replace(t, path, dotest.DefaultToken, eight.Add(2*time.Minute))
	r.after(10 * time.Second)
	if got := r.notices(); len(got) != 0 {
		t.Errorf("notices %q, want none", got)
	}
}

func TestARevokedTokenIsAConfigurationErrorAtOnce(t *testing.T) {
	r, _ := tokenRig(t)
	r.refresh()
	r.server.RevokeToken(dotest.DefaultToken)
	r.clock.Step(10 * time.Second)
	err := r.provider.Refresh(r.ctx())
	if kind(err) != "Configuration" || !strings.Contains(err.Error(), "check the token") {
		t.Errorf("Refresh: %v (%s), want a ConfigurationError about the token", err, kind(err))
	}
	r.clock.Step(10 * time.Second)
	_ = r.provider.Refresh(r.ctx())
	if got := r.notices(); len(got) != 1 {
		t.Errorf("notices %q, want one", got)
	}
	r.server.AcceptToken(dotest.DefaultToken)
	r.after(30 * time.Second)
}

func TestAnUnknownClusterIsAConfigurationErrorThatNamesTheKey(t *testing.T) {
	r := newRig(t)
	config := strings.Replace(r.server.CloudConfig(), r.server.ClusterID(), "another", 1)
	provider := r.connect(digitalocean.Options{CloudConfig: []byte(config)})
	err := provider.Refresh(r.ctx())
	if kind(err) != "Configuration" || !strings.Contains(err.Error(), "cluster_id") || !strings.Contains(err.Error(), "another") {
		t.Errorf("Refresh: %v, want a ConfigurationError that names the cluster and the key", err)
	}
}
