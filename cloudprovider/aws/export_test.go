package aws

// Gathered is how many groups the next question will be about, while another one is under way.
func (p *Provider) Gathered() int {
	p.gathering.mu.Lock()
	defer p.gathering.mu.Unlock()
	if p.gathering.next == nil {
		return 0
	}
	return len(p.gathering.next.books)
}
