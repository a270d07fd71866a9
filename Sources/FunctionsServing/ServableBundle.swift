public import FunctionsRuntime

/// A bundle that can also serve alone, without `functions-host`: its callable and HTTP functions on one port, as Cloud Run
/// and Knative expect it.
///
///     import FunctionsRuntime
///     import FunctionsServing
///
///     @main
///     struct ShopFunctions: ServableBundle { … }
///
/// What `functions-host` asks for on the command line it does as any bundle. Started with `serve`, or with nothing while
/// the environment has `PORT`, it serves: each function in processes of its own, which are this program again.
public protocol ServableBundle: FunctionBundle {}

extension ServableBundle {
    /// Does what the command line asks for: `serve`, `manifest`, or `worker NAME`.
    ///
    /// Ends the process with 64 where the arguments are others, with 78 where the bundle, or what the environment says, is
    /// impossible, and with 1 where it can't serve.
    public static func main() {
        main(otherwise: [
            (command: "serve [--port N]", does: "serve its callable and HTTP functions on PORT; without arguments too"),
            (command: "worker NAME", does: "run one function for whoever serves it"),
        ]) { arguments, manifest in
            guard let request = ServingRequest(arguments) else { return }
            ServingProgram(name: "\(Self.self)", manifest: manifest).run(request)
        }
    }
}
