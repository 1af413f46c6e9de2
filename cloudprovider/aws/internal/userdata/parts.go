package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// parts are the texts that user data hold: the parts of a MIME message, else the whole.
func parts(encoded string) []string {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil || len(raw) > largest {
		return nil
	}
	raw = unpacked(raw)
	if len(raw) == 0 {
		return nil
	}
	if texts, ok := multiple(raw); ok {
		return texts
	}
	return []string{plain(string(raw))}
}

// unpacked undoes gzip, which cloud-init takes as well.
func unpacked(raw []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return raw
	}
	text, err := io.ReadAll(io.LimitReader(reader, largest))
	if err != nil {
		return nil
	}
	return text
}

func multiple(raw []byte) ([]string, bool) {
	message, err := mail.ReadMessage(bytes.NewReader(bytes.TrimLeft(raw, "\r\n")))
	if err != nil {
		return nil, false
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, false
	}
	var texts []string
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextPart()
		if err != nil {
			return texts, true // the end, or what is broken from here on
		}
		text, err := io.ReadAll(io.LimitReader(part, largest))
		if err != nil {
			return texts, true
		}
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			if decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(text)), "")); err == nil {
				text = decoded
			}
		}
		texts = append(texts, plain(string(text)))
	}
}

// plain has line feeds only.
func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
