// Says what a container that metax-docker has started sees: the host's MXMACA and the cards.
#include <cstdio>

int render_nodes();
bool is_there(const char *path);

int main() {
    std::printf("MXMACA: %s\n", is_there("/opt/maca") ? "/opt/maca" : "none");
    std::printf("control device: %s\n", is_there("/dev/mxcd") ? "/dev/mxcd" : "none");
    std::printf("render nodes: %d\n", render_nodes());
    return 0;
}
