package tokens

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// Source gives the token. Safe for concurrent use. It looks at the file's time before each request; a file that is gone or empty leaves the last
// token in force.
type Source struct {
	path string // empty: the token is literal

	mu       sync.Mutex
	token    string
	modified time.Time
	trouble  error
}

var _ oauth2.TokenSource = (*Source)(nil)

// Literal makes a source of a token that stays.
func Literal(token string) *Source { return &Source{token: token} }

// File makes a source of a file's content, without the white space around it. The error says why the file cannot be used.
func File(path string) (*Source, error) {
	s := &Source{path: path}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// Token returns the token for one request; the error is always nil.
func (s *Source) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != "" {
		info, err := os.Stat(s.path)
		switch {
		case err != nil:
			s.trouble = fmt.Errorf("looking at the token file: %w", err)
		case !info.ModTime().Equal(s.modified):
			s.trouble = s.read()
		default:
			s.trouble = nil
		}
	}
	return &oauth2.Token{AccessToken: s.token}, nil
}

// Reread reads the file at once, after a token was refused, and tells whether that gave another one than used.
func (s *Source) Reread(used string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return false
	}
	s.trouble = s.read()
	return s.token != used
}

// Current is the token as it was read last.
func (s *Source) Current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// Trouble says why the file could not be read the last time, although a token is in force; nil: it could.
func (s *Source) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// read takes over what the file holds. Call with mu held.
func (s *Source) read() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("reading the token file: %w", err)
	}
	content, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("reading the token file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return fmt.Errorf("token file %q is empty: want an API token in it", s.path)
	}
	if strings.ContainsAny(token, "\r\n\t ") {
		return fmt.Errorf("token file %q holds more than one word: want an API token and nothing else", s.path)
	}
	s.token, s.modified = token, info.ModTime()
	return nil
}
