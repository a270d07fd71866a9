/// Where the certificates of ID tokens are found, at Google and on this host alike.
package enum IDTokenCertificates {
    package static let path = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
}
