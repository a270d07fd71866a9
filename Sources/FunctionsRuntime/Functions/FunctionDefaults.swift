/// The options that a bundle's functions have unless they set them: Firebase's global options.
///
///     var defaults: FunctionDefaults {
///         FunctionDefaults(.region(.europeWest1), .memory(.mib512), .timeout(.seconds(30)))
///     }
///
/// All options apply that every kind of function has. A function's own options come after them: `.region` replaces the
/// regions, while `.labels` and `.secrets` are added. A timeout that is longer than a kind of function may have is cut to that.
public struct FunctionDefaults: Sendable {
    let options: FunctionOptions

    public init(_ options: FunctionOption<FunctionKind.Every>...) {
        var all = FunctionOptions()
        for option in options { option.apply(&all) }
        self.options = all
    }
}
