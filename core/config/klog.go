package config

import "strconv"

// KlogSetting is a flag of klog's own flag set.
type KlogSetting struct {
	Name  string // as klog spells it, with "_"
	Value string
}

// KlogSettings returns what cmd has to set on the flag set that klog.InitFlags fills. Verbosity and VModule are not among them: the
// logging configuration of component-base passes them on, together with Format, FlushFrequency, split streams and buffers. For JSON
// the settings are without effect and without harm.
func (l Logging) KlogSettings() []KlogSetting {
	return []KlogSetting{
		{"logtostderr", strconv.FormatBool(l.LogToStderr)},
		{"legacy_stderr_threshold_behavior", strconv.FormatBool(l.LegacyStderrThreshold)},
		{"stderrthreshold", l.StderrThreshold},
		{"alsologtostderr", strconv.FormatBool(l.AlsoLogToStderr)},
		{"alsologtostderrthreshold", l.AlsoLogToStderrThreshold},
		{"log_file", l.LogFile},
		{"log_dir", l.LogDir},
		{"log_file_max_size", strconv.FormatUint(l.LogFileMaxSizeMB, 10)},
		{"log_backtrace_at", l.LogBacktraceAt},
		{"add_dir_header", strconv.FormatBool(l.AddDirHeader)},
		{"skip_headers", strconv.FormatBool(l.SkipHeaders)},
		{"skip_log_headers", strconv.FormatBool(l.SkipLogHeaders)},
		{"one_output", strconv.FormatBool(l.OneOutput)},
	}
}
