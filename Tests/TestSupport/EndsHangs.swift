package import Testing

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs, which fails then. The bound is the same for all tests and so long that a test which
    /// makes progress never meets it, however slow or busy the machine is.
    package static var endsHangs: Self { endsHangs(afterWorking: 0) }

    /// Ends a test that hangs after it has worked for the requested time.
    ///
    /// - Parameter seconds: how long the test works on a machine without other work.
    package static func endsHangs(afterWorking seconds: Int) -> Self { .timeLimit(.minutes(30 + seconds / 60)) }
}
