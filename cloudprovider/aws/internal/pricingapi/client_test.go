package pricingapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/pricingapi"
)

// question is one request for products.
type question struct {
	Filters    []struct{ Field, Value string }
	MaxResults int
	NextToken  string
	header     http.Header
}

func (q question) filter(field string) string {
	for _, f := range q.Filters {
		if f.Field == field {
			return f.Value
		}
	}
	return ""
}

// list serves two pages per question, the first of them empty.
type list struct {
	mu       sync.Mutex
	asked    []question
	products []string // of machines with a hypervisor
	status   int      // 0: fine
}

func (l *list) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := question{header: r.Header}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	l.asked = append(l.asked, q)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if l.status != 0 {
		w.WriteHeader(l.status)
		_, _ = fmt.Fprint(w, `{"__type": "AccessDeniedException", "message": "no"}`)
		return
	}
	answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": []string{}}
	switch {
	case q.NextToken == "":
		answer["NextToken"] = "2"
	case q.filter("tenancy") == "Shared":
		answer["PriceList"] = l.products
	default:
		answer["PriceList"] = []string{entry("m5.metal", `"USD": "4.608"`)}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func entry(name, price string) string {
	return `{"product": {"attributes": {"instanceType": "` + name + `"}}, "terms": {"OnDemand": {"a": {"priceDimensions": {"b": {"pricePerUnit": {` + price + `}}}}}}}`
}

func serve(t *testing.T, l *list, region string) *pricingapi.Client {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return pricingapi.New(aws.Config{
		Region: region, BaseEndpoint: aws.String(server.URL + "/prefix"), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("K", "s", ""),
	}, endpoint.Override{})
}

func TestThePriceListIsReadToItsEnd(t *testing.T) {
	l := &list{products: []string{
		entry("m5.large", `"USD": "0.107"`), entry("c5.large", `"CNY": "1.5"`), entry("free.large", `"USD": "0.000"`), entry("other.large", `"EUR": "1"`), "{", "{}",
		`{"product": {"attributes": {"instanceType": "r5.large"}}, "terms": {"OnDemand": {"a": {"priceDimensions": {"b": {"pricePerUnit": {"USD": "0.2"}}, "c": {"pricePerUnit": {"USD": "0"}}}}}}}`,
	}}
	got, err := serve(t, l, "eu-west-1").OnDemand(t.Context(), prices.Windows)
	if err != nil {
		t.Fatal(err)
	}
	want := []prices.ListPrice{
		{Type: "m5.large", System: prices.Windows, PerHour: 0.107}, {Type: "c5.large", System: prices.Windows, PerHour: 1.5},
		{Type: "r5.large", System: prices.Windows, PerHour: 0.2}, {Type: "m5.metal", System: prices.Windows, PerHour: 4.608},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	if len(l.asked) != 4 {
		t.Fatalf("%d pages were asked for, want 4", len(l.asked))
	}
	filters := map[string]string{}
	for _, f := range l.asked[0].Filters {
		filters[f.Field] = f.Value
	}
	if diff := cmp.Diff(map[string]string{
		"regionCode": "eu-west-1", "serviceCode": "AmazonEC2", "operatingSystem": "Windows", "preInstalledSw": "NA", "capacitystatus": "Used",
		"marketoption": "OnDemand", "tenancy": "Shared", "productFamily": "Compute Instance",
	}, filters); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if family := l.asked[2].filter("productFamily"); l.asked[0].MaxResults != 100 || l.asked[1].NextToken != "2" || family != "Compute Instance (bare metal)" {
		t.Errorf("pages of %d, token %q, second family %q", l.asked[0].MaxResults, l.asked[1].NextToken, family)
	}
	if signed := l.asked[0].header.Get("Authorization"); !strings.Contains(signed, "/eu-central-1/pricing/aws4_request") {
		t.Errorf("signed for %q, want the region of the Pricing API", signed)
	}
}

func TestADeniedListIsAnErrorOfItsClass(t *testing.T) {
	got, err := serve(t, &list{status: http.StatusBadRequest}, "us-west-2").OnDemand(t.Context(), prices.Linux)
	if faults.ClassOf(err) != faults.Denied || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAListThatNeverEndsIsGivenUp(t *testing.T) {
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = fmt.Fprint(w, `{"PriceList": [], "NextToken": "again"}`)
	}))
	defer server.Close()
	client := pricingapi.New(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("K", "s", ""),
	}, endpoint.Override{})
	if _, err := client.OnDemand(context.Background(), prices.Linux); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("after %d pages: %v", pages, err)
	}
}

func TestOnlySomeRegionsHaveAPricingAPI(t *testing.T) {
	for of, want := range map[string]string{
		"us-east-1": "us-east-1", "us-west-2": "us-east-1", "sa-east-1": "us-east-1", "eu-west-1": "eu-central-1", "ap-southeast-2": "ap-south-1",
		"cn-north-1": "cn-northwest-1", "us-gov-west-1": "", "us-iso-east-1": "", "us-isob-east-1": "", "eusc-de-east-1": "", "eu-isoe-west-1": "",
	} {
		if got, ok := pricingapi.Region(of); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", of, got, ok, want)
		}
	}
}

func TestAServiceOverrideIsObeyed(t *testing.T) {
	l := &list{}
	server := httptest.NewServer(l)
	defer server.Close()
	client := pricingapi.New(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("K", "s", ""),
	}, endpoint.Override{URL: server.URL, SigningRegion: "elsewhere", SigningName: "other"})
	if _, err := client.OnDemand(t.Context(), prices.Linux); err != nil {
		t.Fatal(err)
	}
	if signed := l.asked[0].header.Get("Authorization"); !strings.Contains(signed, "/elsewhere/other/aws4_request") {
		t.Errorf("signed for %q", signed)
	}
}
