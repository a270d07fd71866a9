/// What a function may use per day; beyond it the function is paused. At least one of the bounds is set.
package struct FunctionBudget: Hashable, Sendable {
    package var invocationsPerDay: Int?
    /// The total run time of its handlers.
    package var computeSecondsPerDay: Int?
    /// The share of a bound at which the operator is warned.
    package var warnAt = 0.8

    package init() {}
}
