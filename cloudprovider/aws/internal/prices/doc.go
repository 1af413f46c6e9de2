// Package prices answers: what does a machine cost for an hour, and what does the next machine of a group cost?
//
// Here: a book of list and spot prices as AWS told them, the operator's overrides, a formula for what nobody told, which market and
// which type a group buys from next, what a pod's share of a machine costs, and when to ask AWS again. Everything is a value; nothing
// here asks AWS, knows a clock or logs. Not here: the clients of the Pricing API and of EC2 (packages pricingapi and ec2api).
//
// Prices are per hour, in the currency of AWS's price list for the region (USD; CNY in China). The order of trust: a price of the
// override file, the price list or the spot price history, the formula. Factors of the override file apply to the last two.
// Imports packages asg and instancetypes. Spec page: aws §13.
package prices
