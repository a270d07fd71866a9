/// What a function may use in a day; beyond it the function is paused. One of the bounds is there.
package struct FunctionBudget: Hashable, Sendable {
    package var invocationsPerDay: Int?
    /// The time its invocations take, added up.
    package var computeSecondsPerDay: Int?
    /// The share at which it is warned of.
    package var warnAt = 0.8

    package init() {}
}
