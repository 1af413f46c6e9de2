# Reads the output of "go test -bench" on core/shapes and prints two tables in Markdown: how the time of RunOnce grows with twice and four times
# the pods or nodes (BenchmarkGrowth), and what the simulator's fast path saves (BenchmarkShapes).
#
# The time is that up to the last write (ms-to-last-write), or that of the whole RunOnce (ns/op) where nothing is written. Of several runs (-count)
# the quickest counts. A figure that is missing, because its benchmark failed or was not run, is a dash.

/^Benchmark(Growth|Shapes)\// {
	ms = ""
	for (i = 3; i < NF; i += 2) {
		if ($(i + 1) == "ns/op" && ms == "") ms = $i / 1e6
		if ($(i + 1) == "ms-to-last-write") ms = $i
	}
	if (ms == "") next
	sub(/-[0-9]+$/, "", $1) # the number of processors
	parts = split($1, part, "/")
	delete field
	for (i = 3; i <= parts; i++) {
		split(part[i], pair, "=")
		field[pair[1]] = pair[2]
	}
	if (part[1] == "BenchmarkGrowth") {
		row = part[2] " | " field["by"]
		column = field["times"]
		if (!(row in growing)) { growing[row] = 1; growth[++rows] = row }
		if (column == 1) from[row] = field["pods"] " | " field["nodes"]
	} else {
		row = part[2] " | " field["pods"] " | " field["nodes"]
		column = field["fastpath"]
		if (!(row in compared)) { compared[row] = 1; paths[++pairs] = row }
	}
	if (!((row, column) in best) || ms < best[row, column]) best[row, column] = ms
}

function time(row, column) {
	return (row, column) in best ? sprintf("%.1f", best[row, column]) : "-"
}

function ratio(row, a, b) {
	return (row, a) in best && (row, b) in best && best[row, b] > 0 ? sprintf("%.2f", best[row, a] / best[row, b]) : "-"
}

END {
	if (rows > 0) {
		print "| shape | grows | pods | nodes | ×1, ms | ×2, ms | ×4, ms | ×2 : ×1 | ×4 : ×2 | ×4 : ×1 |"
		print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	}
	for (i = 1; i <= rows; i++) {
		row = growth[i]
		print "| " row " | " (row in from ? from[row] : "- | -") " | " time(row, 1) " | " time(row, 2) " | " time(row, 4) " | " \
			ratio(row, 2, 1) " | " ratio(row, 4, 2) " | " ratio(row, 4, 1) " |"
	}
	if (rows > 0 && pairs > 0) print ""
	if (pairs > 0) {
		print "| shape | pods | nodes | fast path, ms | framework only, ms | framework only : fast path |"
		print "| --- | --- | --- | --- | --- | --- |"
	}
	for (i = 1; i <= pairs; i++) {
		row = paths[i]
		print "| " row " | " time(row, "on") " | " time(row, "off") " | " ratio(row, "off", "on") " |"
	}
}
