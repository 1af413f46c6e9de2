package dotest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// routeOf finds out what a request asks for. A route without a handler is none of the API's.
func (s *Server) routeOf(method, path string) route {
	unknown := route{operation: unknownCallName}
	if method == http.MethodGet && path == "/v2/sizes" {
		return route{operation: ListSizes, scope: ScopeSizesRead, handle: sizes}
	}
	if method == http.MethodGet && path == "/v2/kubernetes/options" {
		return route{operation: GetOptions, scope: ScopeKubernetesRead, handle: options}
	}
	rest, ok := strings.CutPrefix(path, "/v2/kubernetes/clusters/")
	if !ok {
		return unknown
	}
	parts := strings.Split(rest, "/")
	cluster, parts := parts[0], parts[1:]
	r := clusterRoute(method, parts)
	if r.handle != nil && cluster != s.cfg.ClusterID {
		r.handle = func(*world, *Call) (answer, *failure) {
			return answer{}, fail(http.StatusNotFound, "cluster not found")
		}
	}
	return r
}

// clusterRoute is the route of a path below a cluster.
func clusterRoute(method string, parts []string) route {
	at := func(n int) string {
		if n < len(parts) {
			return parts[n]
		}
		return ""
	}
	var shape strings.Builder
	shape.WriteString(method)
	for i, part := range parts {
		if i%2 == 1 {
			part = "*"
		}
		shape.WriteString(" " + part)
	}
	read := func(operation string, h handler) route {
		return route{operation: operation, pool: at(1), scope: ScopeKubernetesRead, handle: h}
	}
	write := func(operation string, h handler) route {
		return route{operation: operation, pool: at(1), node: at(3), scope: ScopeKubernetesUpdate, write: true, handle: h}
	}
	switch shape.String() {
	case "GET":
		return read(GetCluster, cluster)
	case "GET status_messages":
		return read(StatusMessages, statusMessages)
	case "GET node_pools":
		return read(ListNodePools, listPools)
	case "GET node_pools *":
		return read(GetNodePool, getPool)
	case "GET node_pools_template *":
		return read(GetTemplate, getTemplate)
	case "PUT node_pools *":
		return write(UpdateNodePool, updatePool)
	case "DELETE node_pools * nodes *":
		return write(DeleteNode, deleteNode)
	case "POST node_pools * recycle":
		return write(RecycleNodes, recycleNodes)
	default:
		return route{operation: unknownCallName}
	}
}

// The shapes of the API's objects.
type (
	poolJSON struct {
		ID        string            `json:"id"`
		Name      string            `json:"name"`
		Size      string            `json:"size"`
		Count     int               `json:"count"`
		Tags      []string          `json:"tags"`
		Labels    map[string]string `json:"labels"`
		Taints    []taintJSON       `json:"taints"`
		AutoScale bool              `json:"auto_scale"`
		Min       int               `json:"min_nodes"`
		Max       int               `json:"max_nodes"`
		Partition string            `json:"gpu_partition_mode,omitempty"`
		Nodes     []nodeJSON        `json:"nodes"`
	}
	taintJSON struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Effect string `json:"effect"`
	}
	nodeJSON struct {
		ID        string      `json:"id"`
		Name      string      `json:"name"`
		Status    *statusJSON `json:"status,omitempty"`
		DropletID string      `json:"droplet_id"`
		CreatedAt string      `json:"created_at"`
		UpdatedAt string      `json:"updated_at"`
	}
	statusJSON struct {
		State   string `json:"state"`
		Message string `json:"message,omitempty"`
	}
)

func describe(p *pool) poolJSON {
	j := poolJSON{
		ID: p.ID, Name: p.Name, Size: p.Size, Count: p.Count, Tags: append([]string{"k8s", "k8s-worker"}, p.Tags...), Labels: p.Labels,
		Taints: []taintJSON{}, AutoScale: p.AutoScale, Partition: p.Partition, Nodes: []nodeJSON{},
	}
	for _, t := range p.Taints {
		j.Taints = append(j.Taints, taintJSON(t))
	}
	if p.AutoScale {
		j.Min, j.Max = p.Min, p.Max
	}
	if p.Spoiled {
		j.Min = j.Max + 1
	}
	for _, n := range p.nodes {
		if !n.Listed {
			continue
		}
		node := nodeJSON{ID: n.ID, Name: n.Name, DropletID: n.DropletID, CreatedAt: timeOf(n.CreatedAt), UpdatedAt: timeOf(n.UpdatedAt)}
		if !n.NoStatus {
			node.Status = &statusJSON{State: string(n.State), Message: n.Message}
		}
		j.Nodes = append(j.Nodes, node)
	}
	return j
}

func listPools(w *world, call *Call) (answer, *failure) {
	list := []poolJSON{}
	for _, p := range w.shown(w.stale) {
		list = append(list, describe(p))
	}
	body := map[string]any{}
	if w.cfg.Paged {
		page, links := paginate(list, call)
		list = page
		if links != nil {
			body["links"] = links
		}
	}
	if w.items != nil {
		list = list[:min(*w.items, len(list))]
	}
	body["node_pools"] = list
	return answer{status: http.StatusOK, body: body}, nil
}

func getPool(w *world, call *Call) (answer, *failure) {
	p := find(w.shown(w.stale), call.Pool)
	if p == nil {
		return answer{}, fail(http.StatusNotFound, "node pool not found")
	}
	return answer{status: http.StatusOK, body: map[string]any{"node_pool": describe(p)}}, nil
}

func cluster(w *world, _ *Call) (answer, *failure) {
	pools := []poolJSON{}
	for _, p := range w.shown(w.stale) {
		pools = append(pools, describe(p))
	}
	return answer{status: http.StatusOK, body: map[string]any{"kubernetes_cluster": map[string]any{
		"id": w.cfg.ClusterID, "name": "standin", "region": w.cfg.Region, "version": w.version, "tags": []string{"k8s"}, "node_pools": pools,
		"status": statusJSON{State: w.status}, "cluster_autoscaler_configuration": w.scaling,
		"created_at": timeOf(w.now), "updated_at": timeOf(w.now),
	}}}, nil
}

func statusMessages(*world, *Call) (answer, *failure) {
	return answer{status: http.StatusOK, body: map[string]any{"messages": []string{}}}, nil
}

func options(w *world, _ *Call) (answer, *failure) {
	var slugs []map[string]string
	for _, size := range w.cfg.Sizes {
		slugs = append(slugs, map[string]string{"name": size.Slug, "slug": size.Slug})
	}
	return answer{status: http.StatusOK, body: map[string]any{"options": map[string]any{
		"sizes": slugs, "regions": []map[string]string{{"name": w.cfg.Region, "slug": w.cfg.Region}},
		"versions": []map[string]string{{"slug": w.version, "kubernetes_version": strings.Split(w.version, "-")[0]}},
	}}}, nil
}

func sizes(w *world, call *Call) (answer, *failure) {
	list := []map[string]any{}
	for _, size := range w.cfg.Sizes {
		j := map[string]any{
			"slug": size.Slug, "memory": size.MemoryMB, "vcpus": size.VCPUs, "disk": size.DiskGB, "price_hourly": size.HourlyUSD,
			"price_monthly": size.HourlyUSD * 672, "regions": size.Regions, "available": !size.Unavailable, "transfer": 4.0, "description": "Basic",
		}
		if size.GPUs > 0 {
			j["gpu_info"] = map[string]any{"count": size.GPUs, "model": size.GPUModel, "vram": map[string]any{"amount": 80, "unit": "gib"}}
		}
		list = append(list, j)
	}
	total := len(list)
	page, links := paginate(list, call)
	if w.items != nil {
		page = page[:min(*w.items, len(page))]
	}
	body := map[string]any{"sizes": page, "meta": map[string]int{"total": total}}
	if links != nil {
		body["links"] = links
	}
	return answer{status: http.StatusOK, body: body}, nil
}

// paginate cuts the page out of a listing that a request asks for, and links the others; nil: all is on this one.
func paginate[T any](list []T, call *Call) (page []T, links map[string]any) {
	number, size := intOf(call.Query, "page", 1), min(intOf(call.Query, "per_page", 20), 200)
	from := min((number-1)*size, len(list))
	to := min(from+size, len(list))
	last := max(1, (len(list)+size-1)/size)
	if last == 1 {
		return list[from:to], nil
	}
	link := func(n int) string {
		return "https://api.example.com" + call.Path + "?page=" + strconv.Itoa(n) + "&per_page=" + strconv.Itoa(size)
	}
	pages := map[string]string{}
	if number > 1 {
		pages["first"], pages["prev"] = link(1), link(number-1)
	}
	if number < last {
		pages["next"], pages["last"] = link(number+1), link(last)
	}
	return list[from:to], map[string]any{"pages": pages}
}

func intOf(query url.Values, key string, otherwise int) int {
	if n, err := strconv.Atoi(query.Get(key)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func getTemplate(w *world, call *Call) (answer, *failure) {
	p := w.named(call.Pool)
	if p == nil || p.NoTemplate {
		return answer{}, fail(http.StatusNotFound, "node pool template not found")
	}
	t := w.template(p)
	body := map[string]any{"cluster_uuid": w.cfg.ClusterID, "name": p.Name, "slug": t.Slug, "labels": t.Labels, "taints": t.Taints}
	if t.Capacity != nil {
		body["capacity"] = t.Capacity
	}
	if t.Allocatable != nil {
		body["allocatable"] = t.Allocatable
	}
	if t.GPU != nil {
		body["gpu"] = t.GPU
	}
	return answer{status: http.StatusOK, body: map[string]any{"template": body}}, nil
}

// template is what a pool says about its next node.
func (w *world) template(p *pool) *Template {
	if p.Template != nil {
		return p.Template
	}
	t := &Template{Slug: p.Size, Labels: p.Labels, Taints: []string{}}
	for _, taint := range p.Taints {
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		t.Taints = append(t.Taints, text+":"+taint.Effect)
	}
	i := slices.IndexFunc(w.cfg.Sizes, func(size Size) bool { return size.Slug == p.Size })
	if i < 0 {
		return t
	}
	size := w.cfg.Sizes[i]
	t.Capacity = &Resources{CPU: int64(size.VCPUs), CPUMilliCores: int64(size.VCPUs) * 1000, Memory: strconv.Itoa(size.MemoryMB) + "Mi", Pods: 110}
	milli := int64(size.VCPUs)*1000 - 100
	t.Allocatable = &Resources{CPU: max(1, milli/1000), CPUMilliCores: milli, Memory: strconv.Itoa(size.MemoryMB*3/4) + "Mi", Pods: 110}
	if size.GPUs > 0 {
		vendor, model, _ := strings.Cut(size.GPUModel, "_")
		t.GPU = &GPU{Vendor: vendor, Model: model, Count: int64(size.GPUs)}
	}
	return t
}
